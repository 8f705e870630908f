/* fields.c - options and calls of the library in the words of the command line; see fields.h.
 *
 * Every member of every options struct is listed (tests/tools/fields.py holds the table against
 * phloem.h): by the option that sets it, or by "" when none does.
 */
#include "args/fields.h"

#include <stdio.h>
#include <string.h>

#include "args/options.h"

typedef struct field {
    const char *name;
    const char *option; /* without the dashes; "": the command line has none */
} field;

static const field fields[] = {
    {"builder.no_sharing", ""},
    {"read.format", "from"},
    {"read.no_sharing", "no-sharing"},
    {"read.skip_bad", "skip-bad"},
    {"read.class_name", "class"},
    {"read.no_class", "no-class"},
    {"read.class_by_folder", "class-by-folder"},
    {"read.class_level", "class-level"},
    {"read.endings", "ending"},
    {"read.n_endings", "ending"},
    {"read.only_classes", "only-class"},
    {"read.n_only_classes", "only-class"},
    {"read.limit", "limit"},
    {"read.xml_attributes", "attributes"},
    {"read.xml_text", "text"},
    {"read.html_skip", "html-skip"},
    {"read.n_html_skip", "html-skip"},
    {"read.xml_label", "xml-label"},
    {"read.newick_lengths", "lengths"},
    {"read.rna_runs", "unpaired"},
    {"read.rna_drop_knots", "knots"},
    {"read.rna_family", "family"},
    {"read.ptb_drop_words", "words"},
    {"read.conllu_label", "conllu-label"},
    {"read.block_trees", "block"},
    {"read.block_size", ""},
    {"read.max_nodes", "max-nodes"},
    {"read.max_children", "max-children"},
    {"read.max_depth", "max-depth"},
    {"read.max_attributes", "max-attributes"},
    {"read.max_name", "max-name"},
    {"read.max_token", "max-token"},
    {"read.max_ratio", "max-ratio"},
    {"write.format", "to"},
    {"write.conllu_label", "conllu-label"},
    {"write.force", "force"},
    {"symm.seed", "seed"},
    {"symm.trees_per_class", "trees"},
    {"logic.seed", "seed"},
    {"logic.trees", "trees"},
    {"logic.depth", "depth"},
    {"documents.seed", "seed"},
    {"documents.classes", "classes"},
    {"documents.trees_per_class", "trees"},
    {"documents.nodes", "nodes"},
    {"documents.vocabulary", "vocabulary"},
    {"documents.noise", "noise"},
    {"documents.overlap", "overlap"},
    {"features.groups", "groups"},
    {"features.least_trees", "least-trees"},
    {"features.threads", "threads"},
    {"train.kind", "model"},
    {"train.learner", "learner"},
    {"train.states", "states"},
    {"train.per_class", "per-class"},
    {"train.seed", "seed"},
    {"train.threads", "threads"},
    {"train.iterations", "iterations"},
    {"train.partition", "partition"},
    {"train.memory_limit", "memory-limit"},
    {"train.command_line", ""},
    {"train.members", "members"},
    {"train.restarts", "restarts"},
    {"train.tolerance", "tolerance"},
    {"train.smoothing", "smoothing"},
    {"train.sampler", "sampler"},
    {"train.soft", "clustering"},
    {"train.warmup", "warmup"},
    {"train.chains", "chains"},
    {"train.recycle", "recycle"},
    {"train.states_auto", "states"},
    {"train.states_max", "states-max"},
    {"train.keep", "keep"},
    {"train.anneal_start", "anneal"},
    {"train.anneal_end", "anneal"},
    {"train.slots_min", "slots-min"},
    {"train.slots_max", "slots-max"},
    {"train.slot_support", "slot-support"},
    {"train.core_max", "core-max"},
    {"train.sizes", "k"},
    {"train.n_sizes", "k"},
    {"train.phi", "phi"},
    {"train.alpha", "alpha"},
    {"train.alpha0", "alpha0"},
    {"train.beta", "beta"},
    {"train.gamma", "gamma"},
    {"train.delta", "delta"},
    {"train.update_concentration", "update-concentration"},
    {"train.head", "head"},
    {"train.fold", "folds-file"},
    {"train.n_folds", ""},
    {"train.calibrate", "calibrate"},
    {"train.piece", "piece"},
    {"train.pieces", "piece"},
    {"train.piece_classes", "piece-classes"},
    {"train.n_piece_classes", "piece-classes"},
    {"train.piece_first_chain", "piece-chains"},
    {"train.piece_last_chain", "piece-chains"},
    {"file.replace", "force"},
    {"file.no_embed", "no-embed"},
    {"file.checkpoint_seconds", "checkpoint"},
    {"resume.threads", "threads"},
    {"resume.iterations", "iterations"},
    {"resume.memory_limit", "memory-limit"},
    {"resume.forest", "data"},
    {"resume.checkpoint_seconds", "checkpoint"},
    {"merge.replace", "force"},
    {"merge.partial", "partial"},
    {"merge.no_finish", "no-finish"},
    {"merge.forest", "data"},
    {"merge.threads", "threads"},
    {"merge.memory_limit", "memory-limit"},
    {"classify.structure", "structure"},
    {"classify.prior", "class-prior"},
    {"classify.threads", "threads"},
    {"classify.rule", "rule"},
    {"classify.explain", "explain"},
    {"classifier.fold", "folds-file"},
    {"classifier.n_folds", ""},
    {"classifier.groups", ""},
    {"classifier.c", ""},
    {"classifier.seed", "seed"},
    {"classifier.memory_limit", "memory-limit"},
    {"classifier.threads", "threads"},
    {"classifier.command_line", ""},
    {"expert.seed", "seed"},
    {"expert.n_folds", ""},
    {"expert.threads", "threads"},
    {"expert.command_line", ""},
    {"expert.models_only", "members"},
    {"score.structure", "structure"},
    {"score.every_class", ""},
    {"score.bits", "per-node"},
    {"score.predictive", ""},
    {"score.class_name", "class"},
    {"score.threads", "threads"},
    {"score.with", "with"},
    {"score.n_with", "with"},
    {"decode.draw", "draw"},
    {"decode.marginals", "marginals"},
    {"decode.pairs", "pairs"},
    {"decode.joint", "joint"},
    {"decode.class_name", "class"},
    {"decode.threads", "threads"},
    {"label.hide", "hide"},
    {"label.no_draw", ""},
    {"label.seed", "seed"},
    {"label.filled", "output"},
    {"label.fill_drawn", "drawn"},
    {"label.class_name", "class"},
    {"label.threads", "threads"},
    {"label.with", "with"},
    {"label.n_with", "with"},
    {"sample.seed", "seed"},
    {"sample.trees", "trees"},
    {"sample.max_nodes", "max-nodes"},
    {"sample.max_attempts", ""},
    {"sample.class_name", "class"},
    {"sample.threads", "threads"},
    {"evaluate.train", ""},
    {"evaluate.states", "states"},
    {"evaluate.n_states", "states"},
    {"evaluate.fold", "folds-file"},
    {"evaluate.n_folds", "folds"},
    {"evaluate.structure", "structure"},
    {"evaluate.prior", "class-prior"},
    {"evaluate.trains", "models"},
    {"evaluate.n_trains", "models"},
    {"evaluate.priors", "class-priors"},
    {"evaluate.n_priors", "class-priors"},
    {"evaluate.work", "work"},
    {"evaluate.piece", "piece"},
    {"evaluate.pieces", "piece"},
    {"diagnose.allow_few", "allow-few"},
    {"diagnose.class_index", "class"},
};

/* Calls, as one would type them. */
static const field calls[] = {
    {"phl_train", "`phloem train`"},   {"phl_train_classifier", "'phloem train --classifier'"},
    {"phl_resume", "'phloem resume'"}, {"phl_label", "'phloem label'"},
    {"phl_merge", "'phloem merge'"},   {"phl_run_json", "show --json"},
};

static const field *find(const field *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* What the value of an option is called in help texts: in the first command that has it. */
static const char *argument_of(const cli_command *const *commands, const char *option)
{
    for (; *commands != NULL; commands++) {
        size_t index = command_find_option(*commands, option, strlen(option));
        if (index != SIZE_MAX) {
            return command_option(*commands, index)->argument;
        }
    }
    return NULL;
}

bool fields_name(const char *name, const char *value, char *out, size_t size, void *context)
{
    (void)context;
    const field *call = find(calls, sizeof calls / sizeof *calls, name);
    const field *found = find(fields, sizeof fields / sizeof *fields, name);
    if (call != NULL) {
        snprintf(out, size, "%s", call->option);
        return true;
    }
    if (found == NULL || found->option[0] == '\0') {
        return false;
    }
    if (value != NULL && value[0] == '\0') {
        value = argument_of(program_commands, found->option);
    }
    snprintf(out, size, "--%s%s%s", found->option, value ? " " : "", value ? value : "");
    return true;
}

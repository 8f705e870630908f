/* rna.c - RNA structures: from bases and pairs to a tree; see rna.h. */
#include "format/rna.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void phl_rna_clear(phl_rna *rna)
{
    phl_text_clear(&rna->bases);
    phl_text_clear(&rna->id);
    phl_text_clear(&rna->family);
    phl_free(rna->partner);
    phl_free(rna->open);
    memset(rna, 0, sizeof *rna);
}

void phl_rna_begin(phl_rna *rna)
{
    rna->bases.length = rna->id.length = rna->family.length = 0;
    rna->length = 0;
    rna->line = 0;
}

phl_status phl_rna_add(phl_rna *rna, const phl_reader *reader, uint32_t partner, phl_error *error)
{
    if (rna->length + 1 >= reader->options->max_nodes || rna->length >= UINT32_MAX - 1) {
        return phl_raise(error, PHL_ERR_LIMIT,
                         "raise the cap with " PHL_OPTION_TO("read.max_nodes", ""),
                         "a structure of more than %llu bases",
                         (unsigned long long)reader->options->max_nodes - 1);
    }
    phl_status status =
        phl_grow(&rna->partner, &rna->capacity, rna->length + 1, sizeof *rna->partner, error);
    if (status == PHL_OK) {
        rna->partner[rna->length++] = partner;
    }
    return status;
}

phl_status phl_rna_title(phl_rna *rna, const char *title, size_t length, phl_error *error)
{
    phl_text *words[] = {&rna->id, &rna->family};
    size_t at = 0;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < 2; i++) {
        while (at < length && (title[at] == ' ' || title[at] == '\t')) {
            at++;
        }
        size_t begin = at;
        while (at < length && title[at] != ' ' && title[at] != '\t') {
            at++;
        }
        words[i]->length = 0;
        status = phl_text_append(words[i], title + begin, at - begin, error);
    }
    return status;
}

/* Of two pairs that cross, the one that opens later is the one to go. */
static phl_status uncross(phl_rna *rna, const phl_reader *reader, size_t *crossing,
                          phl_error *error)
{
    size_t depth = 0;
    for (size_t i = 0; i < rna->length; i++) {
        uint32_t partner = rna->partner[i];
        if (partner > i + 1) {
            phl_status status =
                phl_grow(&rna->open, &rna->open_capacity, depth + 1, sizeof *rna->open, error);
            if (status != PHL_OK) {
                return status;
            }
            rna->open[depth++] = (uint32_t)i;
        } else if (partner != 0) {
            while (rna->open[depth - 1] != partner - 1) {
                uint32_t later = rna->open[--depth];
                if (!reader->options->rna_drop_knots) {
                    *crossing = i;
                    return phl_raise(error, PHL_ERR_SYNTAX,
                                     "leave out the pair that opens later with " PHL_OPTION_TO(
                                         "read.rna_drop_knots", "drop"),
                                     "the pair of bases %u and %zu crosses that of %u and %u: a "
                                     "pseudoknot, which is no tree",
                                     partner, i + 1, later + 1, rna->partner[later]);
                }
                rna->partner[rna->partner[later] - 1] = 0;
                rna->partner[later] = 0;
            }
            depth--;
        }
    }
    return PHL_OK;
}

static phl_status label_of(const phl_reader *reader, const char *name, size_t length,
                           int32_t *label, phl_error *error)
{
    return phl_builder_label(reader->builder, name, length, label, error);
}

static phl_status open_pair(const phl_rna *rna, phl_reader *reader, size_t base, phl_error *error)
{
    char name[2] = {'(', ')'};
    if (rna->bases.length > 0) {
        name[0] = rna->bases.bytes[base];
        name[1] = rna->bases.bytes[rna->partner[base] - 1];
    }
    int32_t label;
    phl_status status = label_of(reader, name, sizeof name, &label, error);
    return status == PHL_OK ? phl_builder_open_label(reader->builder, label, 0, error) : status;
}

/* A run of unpaired bases: ".1" to ".4", then by powers of two, ".5-8", ".9-16", ... */
static phl_status add_run(phl_reader *reader, size_t bases, phl_error *error)
{
    char name[64];
    size_t most = 8;
    while (most < bases) {
        most *= 2;
    }
    int n = bases <= 4 ? snprintf(name, sizeof name, ".%zu", bases)
                       : snprintf(name, sizeof name, ".%zu-%zu", most / 2 + 1, most);
    int32_t label;
    phl_status status = label_of(reader, name, (size_t)n, &label, error);
    return status == PHL_OK ? phl_builder_leaf(reader->builder, label, 0, error) : status;
}

/* The unpaired bases from `base` on; *next is the first that is paired. */
static phl_status add_unpaired(const phl_rna *rna, phl_reader *reader, size_t base, size_t *next,
                               phl_error *error)
{
    phl_status status = PHL_OK;
    size_t end = base;
    while (status == PHL_OK && end < rna->length && rna->partner[end] == 0) {
        if (!reader->options->rna_runs) {
            const char *name = rna->bases.length > 0 ? rna->bases.bytes + end : ".";
            int32_t label;
            status = label_of(reader, name, 1, &label, error);
            if (status == PHL_OK) {
                status = phl_builder_leaf(reader->builder, label, 0, error);
            }
        }
        end++;
    }
    *next = end;
    return status == PHL_OK && reader->options->rna_runs ? add_run(reader, end - base, error)
                                                         : status;
}

static phl_status build(const phl_rna *rna, phl_reader *reader, phl_error *error)
{
    int32_t label;
    phl_status status = label_of(reader, "rna", 3, &label, error);
    if (status == PHL_OK) {
        status = phl_builder_open_label(reader->builder, label, 0, error);
    }
    size_t base = 0;
    while (status == PHL_OK && base < rna->length) {
        if (rna->partner[base] == 0) {
            status = add_unpaired(rna, reader, base, &base, error);
        } else {
            status = rna->partner[base] > base + 1 ? open_pair(rna, reader, base, error)
                                                   : phl_builder_close(reader->builder, error);
            base++;
        }
    }
    return status == PHL_OK ? phl_builder_close(reader->builder, error) : status;
}

static phl_span span_of(const phl_text *text)
{
    phl_span span = {text->length > 0 ? text->bytes : NULL, text->length};
    return span;
}

phl_status phl_rna_end_tree(phl_rna *rna, phl_reader *reader, size_t *crossing, phl_error *error)
{
    phl_span none = {NULL, 0};
    phl_status status = uncross(rna, reader, crossing, error);
    if (status == PHL_OK) {
        status = build(rna, reader, error);
    }
    return status == PHL_OK
               ? phl_reader_end_tree(reader,
                                     reader->options->rna_family ? span_of(&rna->family) : none,
                                     1.0, span_of(&rna->id), rna->line, error)
               : status;
}

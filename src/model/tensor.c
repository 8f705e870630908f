/* tensor.c - the parameters of a draw as tensors: what they are called, how they are shaped and
 * where their numbers lie.  Files, `show --json` and callers outside see parameters through these.
 */
#include "model/tensor.h"

#include <string.h>

_Static_assert(PHL_TENSOR_AXES > PHL_MAX_AXES, "the core has an axis for every active slot");

/* Axes one after the other in memory, the last one running fastest. */
static phl_tensor dense(const char *name, phl_dtype dtype, const void *data, const size_t *shape,
                        size_t n_axes)
{
    phl_tensor tensor = {.name = name, .dtype = dtype, .data = data, .n_axes = n_axes};
    size_t stride = 1;
    for (size_t a = n_axes; a-- > 0;) {
        tensor.shape[a] = shape[a];
        tensor.strides[a] = stride;
        stride *= shape[a];
    }
    return tensor;
}

/* Labels by states in memory, so that a message finds the states of a label side by side. */
static phl_tensor emission_of(const phl_params *params)
{
    size_t c = params->states, m = params->labels;
    phl_tensor tensor =
        dense("emission", PHL_FLOAT64, params->emission, (const size_t[]){c, m + 1}, 2);
    tensor.strides[0] = 1;
    tensor.strides[1] = c;
    return tensor;
}

static phl_tensor core_of(const phl_params *params)
{
    size_t shape[PHL_TENSOR_AXES];
    for (uint32_t a = 0; a < params->n_axes; a++) {
        shape[a] = params->axes[a].size;
    }
    shape[params->n_axes] = params->states;
    return dense("core", PHL_FLOAT64, params->core, shape, (size_t)params->n_axes + 1);
}

static phl_tensor axis_of(const phl_params *params, const phl_axis *axis)
{
    size_t values = (size_t)params->states + 1;
    phl_tensor tensor =
        axis->matrix != NULL
            ? dense("mode", PHL_FLOAT64, axis->matrix, (const size_t[]){values, axis->size}, 2)
            : dense("partition", PHL_INT32, axis->block, &values, 1);
    tensor.slot = axis->slot;
    return tensor;
}

/* A grammar: annotations of each symbol, rules, their counts, scores of the trees held out. */
static bool grammar_tensor(const phl_grammar_part *part, size_t i, phl_tensor *tensor)
{
    size_t symbols = (size_t)part->labels + PHL_SYMBOLS, rules = part->rules.rules.n;
    const phl_tensor all[] = {
        dense("numbers", PHL_FLOAT64, part->numbers, (const size_t[]){PHL_PART_NUMBERS}, 1),
        dense("annotations", PHL_INT32, part->sizes, &symbols, 1),
        dense("rules", PHL_INT32, part->rules.rules.items, (const size_t[]){rules, 3}, 2),
        dense("counts", PHL_FLOAT64, part->counts->n, &part->counts->blocks.first[rules], 1),
        dense("held_out", PHL_FLOAT64, part->held, &part->n_held, 1),
    };
    if (i >= sizeof all / sizeof *all) {
        return false;
    }
    *tensor = all[i];
    return true;
}

/* In the order of `show --json`: active slots stand before the core that they shape. */
bool phl_tensor_of(const phl_params *params, size_t i, phl_tensor *tensor)
{
    if (params->kind == PHL_GRAMMAR) {
        return grammar_tensor(params->grammar, i, tensor);
    }
    size_t c = params->states, l = params->slots, rows = params->kind == PHL_TD ? c : c + 1;
    const phl_tensor before[] = {
        dense("prior", PHL_FLOAT64, params->prior, (const size_t[]){l, c}, 2),
        emission_of(params),
        dense("switch", PHL_FLOAT64, params->switching, &l, 1),
        dense("transition", PHL_FLOAT64, params->transition, (const size_t[]){l, rows, c}, 3),
        dense("root", PHL_FLOAT64, params->root, &c, 1),
    };
    for (size_t t = 0; t < sizeof before / sizeof *before; t++) {
        if (before[t].data != NULL && i-- == 0) {
            *tensor = before[t];
            return true;
        }
    }
    if (i < params->n_axes) {
        *tensor = axis_of(params, &params->axes[i]);
        return true;
    }
    i -= params->n_axes;
    const phl_tensor behind[] = {
        core_of(params),
        dense("root_kind", PHL_FLOAT64, params->root_kind, (const size_t[]){2}, 1),
        dense("shape_prior", PHL_FLOAT64, params->shape, (const size_t[]){l, 3}, 2),
    };
    for (size_t t = 0; t < sizeof behind / sizeof *behind; t++) {
        if (behind[t].data != NULL && i-- == 0) {
            *tensor = behind[t];
            return true;
        }
    }
    return false;
}

bool phl_tensor_get(const phl_draw *draw, size_t i, phl_tensor *tensor)
{
    return phl_tensor_of(draw->params, i, tensor);
}

bool phl_tensor_find(const phl_draw *draw, const char *name, uint32_t slot, phl_tensor *tensor)
{
    phl_tensor found;
    for (size_t i = 0; phl_tensor_of(draw->params, i, &found); i++) {
        if (strcmp(found.name, name) == 0 && found.slot == slot) {
            *tensor = found;
            return true;
        }
    }
    return false;
}

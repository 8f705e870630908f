/* partition_json.c - reading partitions from JSON; see partition_json.h. */
#include "train/partition_json.h"

#include <string.h>

#include "base/json.h"
#include "base/memory.h"

void phl_partition_json_free(phl_axis *axes, uint32_t n_axes)
{
    for (uint32_t a = 0; axes != NULL && a < n_axes; a++) {
        phl_free(axes[a].block);
    }
    phl_free(axes);
}

/* Blocks of one slot; they must be 0 .. k-1, none left out. */
static phl_status read_blocks(const phl_json_value *blocks, uint32_t states, phl_axis *axis,
                              phl_error *error)
{
    size_t values = (size_t)states + 1;
    if (phl_json_size_of(blocks) != values) {
        return phl_raise(error, PHL_ERR_SYNTAX,
                         "give one block for every state and, last, one for the empty slot",
                         "partition of slot %u: \"blocks\" has %zu entries, expected %zu",
                         axis->slot, phl_json_size_of(blocks), values);
    }
    axis->block = phl_alloc_zero(values, sizeof *axis->block, error);
    if (axis->block == NULL) {
        return PHL_ERR_MEMORY;
    }
    const phl_json_value *entry = NULL;
    for (size_t q = 0; q < values; q++) {
        entry = phl_json_next(blocks, entry);
        double block = phl_json_number_of(entry);
        if (!phl_json_is(entry, PHL_JSON_NUMBER) || !entry->whole || block < 0.0 ||
            block > (double)states) {
            return phl_raise(error, PHL_ERR_SYNTAX, NULL,
                             "partition of slot %u: block %zu is not a number from 0 to %u",
                             axis->slot, q, states);
        }
        axis->block[q] = (uint32_t)block;
        axis->size = axis->block[q] >= axis->size ? axis->block[q] + 1 : axis->size;
    }
    for (uint32_t z = 0; z < axis->size; z++) {
        bool used = false;
        for (size_t q = 0; q < values; q++) {
            used = used || axis->block[q] == z;
        }
        if (!used) {
            return phl_raise(error, PHL_ERR_SYNTAX, "number the blocks 0, 1, 2, ... without gaps",
                             "partition of slot %u: block %u is empty", axis->slot, z);
        }
    }
    return PHL_OK;
}

static phl_status read_axis(const phl_json_value *object, uint32_t states, uint32_t slots,
                            uint32_t before, phl_axis *axis, phl_error *error)
{
    const phl_json_value *slot = phl_json_member(object, "slot");
    double number = phl_json_number_of(slot);
    if (!phl_json_is(slot, PHL_JSON_NUMBER) || !slot->whole || number <= (double)before ||
        number > (double)slots) {
        return phl_raise(error, PHL_ERR_SYNTAX, NULL,
                         "partition: \"slot\" must be a number above %u and at most %u, slots "
                         "ascending",
                         before, slots);
    }
    axis->slot = (uint32_t)number;
    return read_blocks(phl_json_member(object, "blocks"), states, axis, error);
}

phl_status phl_partition_json_parse(const char *text, uint32_t states, uint32_t slots,
                                    phl_axis **axes, uint32_t *n_axes, phl_error *error)
{
    static const char *const remedy =
        "write [{\"slot\":1,\"blocks\":[0,0,1]}], as " PHL_CALL("phl_run_json") " does";
    phl_json json = {0};
    phl_error fault = {0};
    phl_status status = phl_json_load(text, &json, &fault);
    if (status == PHL_ERR_SYNTAX) {
        return phl_raise(error, PHL_ERR_SYNTAX, remedy, "the partition is not JSON: %s",
                         fault.message);
    }
    if (status != PHL_OK) {
        return phl_raise(error, status, fault.remedy, "%s", fault.message);
    }
    const phl_json_value *array = json.values;
    if (!phl_json_is(array, PHL_JSON_ARRAY)) {
        phl_json_clear(&json);
        return phl_raise(error, PHL_ERR_SYNTAX, remedy, "the partition is not a JSON array");
    }
    size_t n = phl_json_size_of(array);
    phl_axis *made = NULL;
    if (n > slots) {
        status = phl_raise(error, PHL_ERR_SYNTAX, NULL,
                           "the partition names %zu slots, the data have %u", n, slots);
    } else {
        made = phl_alloc_zero(n, sizeof *made, error);
        status = made == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    const phl_json_value *entry = NULL;
    for (size_t a = 0; status == PHL_OK && a < n; a++) {
        entry = phl_json_next(array, entry);
        status = read_axis(entry, states, slots, a == 0 ? 0 : made[a - 1].slot, &made[a], error);
    }
    phl_json_clear(&json);
    if (status != PHL_OK) {
        phl_partition_json_free(made, made == NULL ? 0 : (uint32_t)n);
        return status;
    }
    *axes = made;
    *n_axes = (uint32_t)n;
    return PHL_OK;
}

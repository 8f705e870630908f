/* partition_json.c - reading partitions from JSON; see partition_json.h. */
#include "train/partition_json.h"

#include <jansson.h>
#include <string.h>

#include "base/memory.h"

void phl_partition_json_free(phl_mode *modes, uint32_t n_modes)
{
    for (uint32_t a = 0; modes != NULL && a < n_modes; a++) {
        phl_free(modes[a].block);
    }
    phl_free(modes);
}

/* Blocks of one slot; they must be 0 .. k-1, none left out. */
static phl_status read_blocks(const json_t *blocks, uint32_t states, phl_mode *mode,
                              phl_error *error)
{
    size_t values = (size_t)states + 1;
    if (!json_is_array(blocks) || json_array_size(blocks) != values) {
        return phl_raise(error, PHL_ERR_SYNTAX,
                         "give one block for every state and, last, one for the empty slot",
                         "partition of slot %u: \"blocks\" has %zu entries, expected %zu",
                         mode->slot, json_array_size(blocks), values);
    }
    mode->block = phl_alloc_zero(values, sizeof *mode->block, error);
    if (mode->block == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t q = 0; q < values; q++) {
        const json_t *entry = json_array_get(blocks, q);
        json_int_t block = json_integer_value(entry);
        if (!json_is_integer(entry) || block < 0 || block > (json_int_t)states) {
            return phl_raise(error, PHL_ERR_SYNTAX, NULL,
                             "partition of slot %u: block %zu is not a number from 0 to %u",
                             mode->slot, q, states);
        }
        mode->block[q] = (uint32_t)block;
        mode->size = mode->block[q] >= mode->size ? mode->block[q] + 1 : mode->size;
    }
    for (uint32_t z = 0; z < mode->size; z++) {
        bool used = false;
        for (size_t q = 0; q < values; q++) {
            used = used || mode->block[q] == z;
        }
        if (!used) {
            return phl_raise(error, PHL_ERR_SYNTAX, "number the blocks 0, 1, 2, ... without gaps",
                             "partition of slot %u: nothing is in block %u", mode->slot, z);
        }
    }
    return PHL_OK;
}

static phl_status read_mode(const json_t *object, uint32_t states, uint32_t slots, uint32_t before,
                            phl_mode *mode, phl_error *error)
{
    const json_t *slot = json_object_get(object, "slot");
    json_int_t number = json_integer_value(slot);
    if (!json_is_integer(slot) || number <= (json_int_t)before || number > (json_int_t)slots) {
        return phl_raise(error, PHL_ERR_SYNTAX, NULL,
                         "partition: \"slot\" must be a number above %u and at most %u, slots "
                         "ascending",
                         before, slots);
    }
    mode->slot = (uint32_t)number;
    return read_blocks(json_object_get(object, "blocks"), states, mode, error);
}

phl_status phl_partition_json_parse(const char *text, uint32_t states, uint32_t slots,
                                    phl_mode **modes, uint32_t *n_modes, phl_error *error)
{
    json_error_t fault;
    json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, &fault);
    if (!json_is_array(array)) {
        phl_status bad = phl_raise(
            error, PHL_ERR_SYNTAX,
            "write [{\"slot\":1,\"blocks\":[0,0,1]}], as " PHL_CALL("phl_run_json") " does",
            "the partition is not a JSON array%s%s", array == NULL ? ": " : "",
            array == NULL ? fault.text : "");
        json_decref(array);
        return bad;
    }
    size_t n = json_array_size(array);
    phl_mode *made = NULL;
    phl_status status = PHL_OK;
    if (n > slots) {
        status = phl_raise(error, PHL_ERR_SYNTAX, NULL,
                           "the partition names %zu slots, the data have %u", n, slots);
    } else {
        made = phl_alloc_zero(n, sizeof *made, error);
        status = made == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t a = 0; status == PHL_OK && a < n; a++) {
        status = read_mode(json_array_get(array, a), states, slots, a == 0 ? 0 : made[a - 1].slot,
                           &made[a], error);
    }
    json_decref(array);
    if (status != PHL_OK) {
        phl_partition_json_free(made, made == NULL ? 0 : (uint32_t)n);
        return status;
    }
    *modes = made;
    *n_modes = (uint32_t)n;
    return PHL_OK;
}

/* run_json.c - a run as JSON: the output of `show --json`, which docs/run-file.md describes.
 *
 * Numbers are written with 15 digits where that gives the same double when read, else with 17,
 * which always does.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/states_choice.h"
#include "model/tensor.h"

static void put_name(phl_text_writer *writer, const char *name)
{
    if (name == NULL) {
        phl_text_put(writer, "null");
    } else if (writer->status == PHL_OK) {
        writer->status = phl_text_append_json(&writer->text, name, strlen(name), writer->error);
    }
}

/* printf follows the program's locale, JSON does not: whatever stands between the digits is the
 * decimal point. */
static void put_number(phl_text_writer *writer, double number)
{
    char digits[48], plain[48];
    if (!isfinite(number)) { /* no parameter is; JSON has no word for it */
        phl_text_put(writer, "null");
        return;
    }
    (void)snprintf(digits, sizeof digits, "%.15g", number);
    if (strtod(digits, NULL) != number) {
        (void)snprintf(digits, sizeof digits, "%.17g", number);
    }
    size_t used = 0;
    bool pointed = false;
    for (const char *at = digits; *at != '\0'; at++) {
        if ((*at >= '0' && *at <= '9') || *at == '-' || *at == '+' || *at == 'e') {
            plain[used++] = *at;
        } else if (!pointed) {
            plain[used++] = '.';
            pointed = true;
        }
    }
    plain[used] = '\0';
    phl_text_put(writer, plain);
}

/* ---------------------------------------------------------------------------------------------
 * Tensors
 * ------------------------------------------------------------------------------------------- */

static void put_element(phl_text_writer *writer, const phl_tensor *tensor, size_t at)
{
    if (tensor->dtype == PHL_INT32) {
        phl_text_put_number(writer, (uint64_t)((const int32_t *)tensor->data)[at]);
    } else {
        put_number(writer, ((const double *)tensor->data)[at]);
    }
}

/* Lists in lists, one for each axis: every list along the last axis begins those that it is the
 * first element of, and ends those that it is the last of. */
static void put_lists(phl_text_writer *writer, const phl_tensor *tensor)
{
    size_t last = tensor->n_axes - 1, rows = 1;
    for (size_t a = 0; a < last; a++) {
        rows *= tensor->shape[a];
    }
    for (size_t r = 0; r < rows; r++) {
        size_t at = 0, rest = r, begun = 0, ended = 0;
        bool first = true, end = true;
        for (size_t a = last; a-- > 0;) {
            size_t index = rest % tensor->shape[a];
            rest /= tensor->shape[a];
            at += index * tensor->strides[a];
            first = first && index == 0;
            end = end && index + 1 == tensor->shape[a];
            begun += first;
            ended += end;
        }
        phl_text_put(writer, r > 0 ? "," : "");
        for (size_t i = 0; i <= begun; i++) {
            phl_text_put(writer, "[");
        }
        for (size_t c = 0; c < tensor->shape[last]; c++) {
            phl_text_put(writer, c > 0 ? "," : "");
            put_element(writer, tensor, at + c * tensor->strides[last]);
        }
        for (size_t i = 0; i <= ended; i++) {
            phl_text_put(writer, "]");
        }
    }
}

/* The last column belongs to the unseen symbol. */
static void put_emission(phl_text_writer *writer, const phl_tensor *tensor)
{
    phl_tensor labels = *tensor, unseen = *tensor;
    labels.shape[1]--;
    unseen.n_axes = 1;
    unseen.data = (const double *)tensor->data + labels.shape[1] * tensor->strides[1];
    put_lists(writer, &labels);
    phl_text_put(writer, ",\n\"unseen\":");
    put_lists(writer, &unseen);
}

/* With as many axes as there are active slots, lists in lists would be hard to read back. */
static void put_core(phl_text_writer *writer, const phl_tensor *tensor)
{
    phl_tensor flat = *tensor;
    flat.n_axes = flat.shape[0] = flat.strides[0] = 1;
    phl_text_put(writer, "{\"shape\":[");
    for (size_t a = 0; a < tensor->n_axes; a++) {
        phl_text_put(writer, a > 0 ? "," : "");
        phl_text_put_number(writer, tensor->shape[a]);
        flat.shape[0] *= tensor->shape[a];
    }
    phl_text_put(writer, "],\"data\":");
    put_lists(writer, &flat);
    phl_text_put(writer, "}");
}

/* Active slots: their partitions, or mode matrices when soft. */
static void put_axes(phl_text_writer *writer, const phl_params *params)
{
    phl_tensor tensor;
    bool any = false;
    phl_text_put(writer, params->soft ? ",\n\"mode\":[" : ",\n\"partition\":[");
    for (size_t i = 0; phl_tensor_of(params, i, &tensor); i++) {
        if (tensor.slot > 0) {
            phl_text_put(writer, any ? ",{\"slot\":" : "{\"slot\":");
            phl_text_put_number(writer, tensor.slot);
            phl_text_put(writer, params->soft ? ",\"matrix\":" : ",\"blocks\":");
            put_lists(writer, &tensor);
            phl_text_put(writer, "}");
            any = true;
        }
    }
    phl_text_put(writer, "]");
}

static void put_tensor(phl_text_writer *writer, const phl_params *params, const phl_tensor *tensor)
{
    bool core = strcmp(tensor->name, "core") == 0;
    if (tensor->slot > 0) {
        return; /* listed slot by slot, before the core */
    }
    if (core) {
        put_axes(writer, params);
    }
    phl_text_put(writer, ",\n\"");
    phl_text_put(writer, tensor->name);
    phl_text_put(writer, "\":");
    if (core) {
        put_core(writer, tensor);
    } else if (strcmp(tensor->name, "emission") == 0) {
        put_emission(writer, tensor);
    } else {
        put_lists(writer, tensor);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The run
 * ------------------------------------------------------------------------------------------- */

static void put_draw(phl_text_writer *writer, const phl_draw *draw)
{
    phl_tensor tensor;
    phl_text_put(writer, "{\"chain\":");
    phl_text_put_number(writer, draw->chain);
    phl_text_put(writer, ",\"iteration\":");
    phl_text_put_number(writer, draw->iteration);
    for (size_t i = 0; phl_tensor_of(draw->params, i, &tensor); i++) {
        put_tensor(writer, draw->params, &tensor);
    }
    phl_text_put(writer, "}");
}

/* How the number of states was chosen, if it was. */
static void put_choice(phl_text_writer *writer, const phl_run *run)
{
    phl_states_choice choice;
    if (!phl_states_choice_read(run, &choice)) {
        return;
    }
    phl_text_put(writer, ",\n\"states_tried\":{\"trees\":");
    phl_text_put_number(writer, choice.trees);
    phl_text_put(writer, ",\"tried\":[");
    for (size_t i = 0; i < choice.n; i++) {
        phl_text_put(writer, i > 0 ? ",{\"states\":" : "{\"states\":");
        phl_text_put_number(writer, choice.tried[i].states);
        phl_text_put(writer, ",\"log_likelihood_per_node\":");
        put_number(writer, choice.tried[i].nats);
        phl_text_put(writer, "}");
    }
    phl_text_put(writer, "]}");
}

phl_status phl_run_json(const phl_run *run, char **text, size_t *size, phl_error *error)
{
    if (run->expert != NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "the table expert of the run file has it (docs/run-file.md)",
                         "the expert of a run cannot be written as JSON yet");
    }
    if (run->head != NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "the table head of the run file has it (docs/run-file.md)",
                         "the linear head of a run cannot be written as JSON yet");
    }
    phl_text_writer writer = {{NULL, 0, 0}, PHL_OK, error};
    phl_text_put(&writer, "{\"format\":1,\"model\":");
    put_name(&writer, phl_kind_name(run->kind));
    phl_text_put(&writer, ",\"states\":");
    phl_text_put_number(&writer, run->states);
    phl_text_put(&writer, ",\"slots\":");
    phl_text_put_number(&writer, run->slots);
    put_choice(&writer, run);
    phl_text_put(&writer, ",\n\"labels\":[");
    for (size_t i = 0; i < run->labels.count; i++) {
        phl_text_put(&writer, i > 0 ? "," : "");
        put_name(&writer, phl_alphabet_name(&run->labels, i));
    }
    phl_text_put(&writer, "],\n\"classes\":[");
    for (size_t i = 0; i < run->n_models; i++) {
        const phl_model *model = &run->models[i];
        phl_text_put(&writer, i > 0 ? ",\n{\"class\":" : "\n{\"class\":");
        put_name(&writer, phl_run_class_name(run, i));
        phl_text_put(&writer, ",\"trees\":");
        phl_text_put_number(&writer, model->trees);
        phl_text_put(&writer, ",\"draws\":[");
        for (size_t d = 0; d < model->n_draws; d++) {
            phl_text_put(&writer, d > 0 ? ",\n" : "\n");
            put_draw(&writer, &model->draws[d]);
        }
        phl_text_put(&writer, "]}");
    }
    phl_text_put(&writer, "]}\n");
    if (writer.status == PHL_OK) { /* terminated, for those who take it as a string */
        writer.status = phl_text_append(&writer.text, "", 1, error);
    }
    if (writer.status != PHL_OK) {
        phl_text_clear(&writer.text);
        return writer.status;
    }
    *text = writer.text.bytes;
    *size = writer.text.length - 1;
    return PHL_OK;
}

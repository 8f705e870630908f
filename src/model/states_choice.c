/* states_choice.c - how the number of states was chosen; see states_choice.h. */
#include "model/states_choice.h"

#include <math.h>

#include "base/text.h"

phl_status phl_states_choice_record(phl_run *run, const phl_states_choice *choice, phl_error *error)
{
    phl_text_writer writer = {{NULL, 0, 0}, PHL_OK, error};
    phl_text_put_number(&writer, choice->trees);
    for (size_t i = 0; i < choice->n; i++) {
        char digits[32];
        phl_text_of_double(choice->tried[i].nats, digits);
        phl_text_put(&writer, " ");
        phl_text_put_number(&writer, choice->tried[i].states);
        phl_text_put(&writer, " ");
        phl_text_put(&writer, digits);
    }
    if (writer.status == PHL_OK) {
        writer.status = phl_text_append(&writer.text, "", 1, error); /* its end */
    }
    phl_status status = writer.status == PHL_OK
                            ? phl_run_set_meta(run, PHL_KEY_STATES_TRIED, writer.text.bytes, error)
                            : writer.status;
    phl_text_clear(&writer.text);
    return status;
}

/* A whole number from 1 to `most`; false: there is none. */
static bool read_count(const char **at, double most, double *number)
{
    const char *end = *at;
    *number = phl_text_to_double(*at, &end);
    bool good = end != *at && *number >= 1.0 && *number <= most && floor(*number) == *number;
    *at = end;
    return good;
}

bool phl_states_choice_read(const phl_run *run, phl_states_choice *choice)
{
    const char *at = phl_run_meta(run, PHL_KEY_STATES_TRIED), *end = NULL;
    double number = 0.0;
    bool good = at != NULL && read_count(&at, 0x1p52, &number);
    choice->trees = good ? (size_t)number : 0;
    choice->n = 0;
    while (good && *at != '\0') {
        good = choice->n < PHL_MOST_STATES_TRIED && read_count(&at, PHL_MOST_STATES, &number);
        double nats = good ? phl_text_to_double(at, &end) : 0.0;
        good = good && end != at && isfinite(nats);
        if (good) {
            choice->tried[choice->n].states = (uint32_t)number;
            choice->tried[choice->n++].nats = nats;
            at = end;
        }
    }
    return good && choice->n > 0;
}

uint32_t phl_states_choice_best(const phl_states_choice *choice)
{
    size_t best = 0;
    for (size_t i = 1; i < choice->n; i++) {
        best = choice->tried[i].nats > choice->tried[best].nats ? i : best;
    }
    return choice->tried[best].states;
}

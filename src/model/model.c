/* model.c - the model of one class of a run: its draws and what is told about them; see run.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/run.h"

phl_status phl_model_add_draw(phl_model *model, const phl_draw *draw, phl_error *error)
{
    phl_status status = phl_grow(&model->draws, &model->draw_capacity, model->n_draws + 1,
                                 sizeof *model->draws, error);
    if (status != PHL_OK) {
        phl_params_free(draw->params);
        return status;
    }
    model->draws[model->n_draws++] = *draw;
    return PHL_OK;
}

size_t phl_model_draws(const phl_model *model)
{
    return model->n_draws;
}

const phl_draw *phl_model_draw(const phl_model *model, size_t draw)
{
    return draw < model->n_draws ? &model->draws[draw] : NULL;
}

uint64_t phl_model_trees(const phl_model *model)
{
    return model->trees;
}

size_t phl_model_best_draw(const phl_model *model)
{
    size_t best = 0;
    for (size_t d = 1; d < model->n_draws; d++) {
        if (model->draws[d].log_joint > model->draws[best].log_joint) {
            best = d;
        }
    }
    return best;
}

uint32_t phl_model_slot_size(const phl_model *model, size_t draw, uint32_t slot)
{
    const phl_params *params = draw < model->n_draws ? model->draws[draw].params : NULL;
    if (params == NULL || params->axis_of_slot == NULL || slot < 1 || slot > params->slots) {
        return 0;
    }
    uint32_t number = params->axis_of_slot[slot];
    return number == 0 ? 1 : params->axes[number - 1].size;
}

double phl_model_slot_posterior(const phl_model *model, uint32_t slot, size_t *draws)
{
    size_t active = 0;
    if (draws != NULL) {
        memset(draws, 0, ((size_t)model->run->states + 2) * sizeof *draws);
    }
    for (size_t d = 0; d < model->n_draws; d++) {
        uint32_t size = phl_model_slot_size(model, d, slot);
        if (draws != NULL) {
            draws[size]++;
        }
        active += size > 1;
    }
    return model->n_draws == 0 ? (double)NAN : (double)active / (double)model->n_draws;
}

double phl_model_log_likelihood(const phl_model *model)
{
    return model->n_draws == 0 ? 0.0 : model->draws[phl_model_best_draw(model)].log_likelihood;
}

phl_stop_reason phl_model_stop_reason(const phl_model *model)
{
    return model->stop_reason;
}

size_t phl_model_iterations(const phl_model *model)
{
    return (size_t)model->iterations;
}

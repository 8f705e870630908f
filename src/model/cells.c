/* cells.c - the cells of the core a node can use; see cells.h. */
#include "model/cells.h"

void phl_cells_start(phl_cells *cells, const phl_upward *upward, uint32_t s)
{
    const phl_params *params = upward->params;
    const phl_forest *forest = upward->index->forest;
    uint64_t link = forest->first_link[s], end = forest->first_link[s + 1];
    size_t stride = params->core_rows;
    cells->n = 0;
    cells->cell = 0;
    for (uint32_t a = 0; a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        stride /= axis->size;
        while (link < end && forest->links[link].slot < axis->slot) {
            link++;
        }
        bool filled = link < end && forest->links[link].slot == axis->slot;
        if (!filled && axis->block != NULL) {
            cells->cell += axis->block[params->states] * stride;
            continue;
        }
        uint32_t pair = filled ? upward->index->link_pair[link] : PHL_NO_PAIR;
        cells->free[cells->n].axis = a;
        cells->free[cells->n].size = axis->size;
        cells->free[cells->n].digit = 0;
        cells->free[cells->n].pair = pair;
        cells->free[cells->n].stride = stride;
        cells->free[cells->n].m = filled ? upward->message + pair * upward->width
                                         : axis->matrix + (size_t)params->states * axis->size;
        cells->n++;
    }
}

bool phl_cells_next(phl_cells *cells)
{
    for (uint32_t f = cells->n; f-- > 0;) {
        cells->cell += cells->free[f].stride;
        if (++cells->free[f].digit < cells->free[f].size) {
            return true;
        }
        cells->cell -= cells->free[f].stride * cells->free[f].size;
        cells->free[f].digit = 0;
    }
    return false;
}

double phl_cells_weight(const phl_cells *cells)
{
    double weight = 1.0;
    for (uint32_t f = 0; f < cells->n; f++) {
        weight *= cells->free[f].m[cells->free[f].digit];
    }
    return weight;
}

double phl_cells_weight_without(const phl_cells *cells, uint32_t without)
{
    double weight = 1.0;
    for (uint32_t f = 0; f < cells->n; f++) {
        weight *= f == without ? 1.0 : cells->free[f].m[cells->free[f].digit];
    }
    return weight;
}

/* kernel.c - the kernel of each kind of model; see kernel.h. */
#include "model/kernel.h"

#include <math.h>

double phl_kernel_log(double p)
{
    return p > 0.0 ? log(p) : -INFINITY;
}

const phl_kernel *phl_kernel_of(phl_kind kind)
{
    switch (kind) {
    case PHL_SP:
        return &phl_sp_kernel;
    case PHL_TD:
        return &phl_td_kernel;
    case PHL_FULL:
    case PHL_TF:
    default:
        return &phl_tf_kernel;
    }
}

"""A run in the groups that ArviZ knows."""
import numpy as np

QUANTITIES = ("log_joint", "log_likelihood", "active", "sum_size")


def groups(model):
    """posterior: the quantities that chains are compared on, after the warm-up; warmup_posterior:
    before it; sample_stats: moves and temperature; draws: the parameters that were kept, where
    they have one shape.  Axes are chain and draw.

    An arviz.InferenceData where ArviZ is there, else a dict of xarray.Dataset, else of dicts."""
    trace = [rows for rows in model.trace if len(rows)]
    if not trace:
        raise ValueError("the model has no trace: it was never trained")
    options = model.run.options or {}
    warmup = options.get("warmup", 0) if options.get("learner") == "gibbs" else 0
    after = [rows[rows["iteration"] > warmup] for rows in trace]
    before = [rows[rows["iteration"] <= warmup] for rows in trace]
    found = {"posterior": _stacked(after, QUANTITIES), "warmup_posterior":
             _stacked(before, QUANTITIES),
             "sample_stats": {"lp": _cut(after, "log_joint"), **_stacked(
                 after, ("temperature", "tried", "changed"))}, "draws": _kept(model)}
    found = {name: group for name, group in found.items()
             if group and next(iter(group.values())).shape[1]}
    return _wrapped(found)


def _cut(parts, name):
    length = min(len(rows) for rows in parts)
    return np.stack([rows[name][:length] for rows in parts])


def _stacked(parts, names):
    return {name: _cut(parts, name) for name in names}


def _kept(model):
    """Tensors of the draws by chain, those that have one shape in all of them."""
    chains = {}
    for draw in model.draws:
        chains.setdefault(draw.chain, []).append(draw.tensors)
    if not chains:
        return {}
    length = min(len(draws) for draws in chains.values())
    table = [draws[:length] for draws in chains.values()]
    return {name: np.stack([[draw[name] for draw in draws] for draws in table])
            for name in table[0][0] if isinstance(name, str)
            and len({draw[name].shape if name in draw else None
                     for draws in table for draw in draws}) == 1}


def _wrapped(found):
    try:
        import xarray
    except ImportError:
        return found
    datasets = {name: xarray.Dataset({
        key: (("chain", "draw", *(f"{key}_dim_{i}" for i in range(values.ndim - 2))), values)
        for key, values in group.items()}, coords={
            "chain": np.arange(next(iter(group.values())).shape[0]),
            "draw": np.arange(next(iter(group.values())).shape[1])})
        for name, group in found.items()}
    try:
        import arviz
    except ImportError:
        return datasets
    return arviz.InferenceData(**datasets)

"""Progress of a training: a bar of tqdm if it is there, a line of text if not."""
import sys
import time
from contextlib import contextmanager

from ._structs import to_dict


@contextmanager
def watch(progress):
    """The function that is given the library's phl_progress, or None.

    progress: False, True or a function that takes a dict."""
    if not progress:
        yield None
    elif callable(progress):
        yield lambda c: progress(to_dict(c))
    else:
        bar = Bar()
        try:
            yield bar.step
        finally:
            bar.close()


class Bar:
    """Iterations done, of all classes and chains."""

    def __init__(self):
        self.done, self.bar, self.shown = {}, None, 0.0
        try:
            from tqdm.auto import tqdm
            self.tqdm = tqdm
        except ImportError:
            self.tqdm = None

    def step(self, c):
        total = c.classes * c.restarts * c.iterations
        self.done[c.class_index, c.restart] = c.iteration
        done = sum(self.done.values())
        about = {"loglik": f"{c.log_likelihood:.6g}"}
        if c.rhat == c.rhat:
            about["rhat"] = f"{c.rhat:.2f}"
        if self.tqdm:
            if self.bar is None:
                self.bar = self.tqdm(total=total, unit="iteration", leave=False)
            self.bar.total = total
            self.bar.set_postfix(about, refresh=False)
            self.bar.update(done - self.bar.n)
        elif time.monotonic() - self.shown > 0.2:
            self.shown = time.monotonic()
            text = ", ".join(f"{name} {value}" for name, value in about.items())
            print(f"\r{done:,} of {total:,} iterations, {text}   ", end="", file=sys.stderr,
                  flush=True)

    def close(self):
        if self.bar is not None:
            self.bar.close()
        elif self.shown:
            print(file=sys.stderr)

"""The process that does one job: it measures, writes the artifact, and leaves a word about how it ended.

Started by a worker, whose death ends it too: nobody would be left to cancel it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from observatory import plans
from observatory.errors import Cancelled, DescriptorRefused, InputError, ObservatoryError
from observatory.files import write_whole
from observatory.jobs import folder
from observatory.jobs.live import Recorder, log

LONGEST_REASON = 1900


def main() -> NoReturn:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True, type=Path)
    parser.add_argument("--job", required=True, type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    recorder = Recorder(options.job, _encoded)
    result = _measured(options.job, options.store, recorder)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is done is said, too
    recorder.finish()
    write_whole(options.job / folder.RESULT, json.dumps(result).encode("utf-8"))
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)  # everything is on disk; taking torch down in good order would keep the next job waiting for seconds


def _measured(job: Path, store: Path, recorder: Recorder) -> dict[str, Any]:
    """What happened, as plain data: an artifact's id, or a sentence with its exit code."""
    try:
        recorder("start", 0, 1)
        plan = plans.from_yaml(folder.read_small(job / folder.PLAN).decode("utf-8"), folder.PLAN)
        from observatory import runs  # numpy and more: what says why it failed must not fail by itself

        path = runs.run(plan, store, recorder)
        log(f"finished: {path.name}")
        return {"artifact": path.name}
    except Cancelled as error:
        log("cancelled; what was encoded is kept")
        return {"cancelled": str(error)}
    except MemoryError:
        return _failed(InputError("out of memory", mend="use a smaller block_size or a smaller benchmark"))
    except OSError as error:
        return _failed(InputError(f"{error.strerror or error}", file=error.filename, mend="check space and rights"))
    except ObservatoryError as error:
        return _failed(error)
    except Exception as error:
        log(traceback.format_exc())
        return _failed(InputError(f"the run broke off: {type(error).__name__}: {error}", mend="the log has the details"))


def _encoded() -> int:
    """Texts encoded so far. What was not imported has encoded none."""
    cache = sys.modules.get("observatory.scorers.cache")
    return 0 if cache is None else int(cache.EmbeddingCache.added)


def _failed(error: ObservatoryError) -> dict[str, Any]:
    log(f"failed: {error}")
    if isinstance(error, DescriptorRefused):
        for fault in error.faults:
            log(fault)
    return {"error": str(error)[:LONGEST_REASON], "exit_code": error.exit_code}


def _stop(signum: int, frame: FrameType | None) -> NoReturn:
    raise Cancelled("stopped by its worker")


def _end_with(parent: int) -> NoReturn:
    """End this process when its worker is gone, whatever it is doing."""
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(1)


if __name__ == "__main__":
    main()

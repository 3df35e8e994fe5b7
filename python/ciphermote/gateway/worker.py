# SPDX-License-Identifier: Apache-2.0
"""A worker: a process that leases jobs of a gateway's directory, one after the other, and computes them.

    python -m ciphermote.gateway.worker DIRECTORY NAME PARENT [DATABASE]

Serve starts the configured number of workers. A worker ends by itself when PARENT, the process that started
it, has ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from pathlib import Path

from ciphermote.base.errors import Error
from ciphermote.gateway.computing import Cancelled, Progress, Result, compute
from ciphermote.gateway.database.interface import ERRORS
from ciphermote.gateway.database.opening import open_database
from ciphermote.gateway.gateway_files import WRAP_KEY_FILE
from ciphermote.gateway.jobs import Job, Jobs
from ciphermote.gateway.logs import configure, log
from ciphermote.gateway.mailbox import Mailbox
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.rekeying import Rekeying
from ciphermote.gateway.store.opening import open_store
from ciphermote.gateway.stored import WindowChecker
from ciphermote.gateway.wrapping import Wrapper

_IDLE_SECONDS = 0.3
_RENEW_SECONDS = 1.0
_STORAGE_SECONDS = 2.0


class Worker:
    """A worker. stop: set by a signal; the present job is returned to the queue."""

    def __init__(self, folder: Path, name: str, database: str | None = None) -> None:
        self._database = open_database(folder, database)
        self._store = open_store(folder, self._database.connection)
        self._reader = self._store.reader()
        self._jobs = Jobs(self._database, self._store)
        wrapper = Wrapper(folder / WRAP_KEY_FILE)
        self._mailbox = Mailbox(self._database, self._store, wrapper)
        self._checker = WindowChecker(self._reader, wrapper)
        self._name = name
        self.stopping = False

    def run(self, parent: int) -> None:
        """Lease and compute jobs until stopped. parent: passed by the parent, because it may have ended
        before this process can ask."""
        while not self.stopping and os.getppid() == parent:
            try:
                job = self._jobs.lease(self._name)
                if job is None:
                    time.sleep(_IDLE_SECONDS)
                else:
                    self._work(job)
            except (OSError, *ERRORS) as error:
                # A full disk, say, which is no fault of the job's: its lease ends, or never began.
                log.error("storage", error=repr(error))
                time.sleep(_STORAGE_SECONDS)

    def _work(self, job: Job) -> None:
        started = renewed = time.monotonic()

        def progress(done: int, total: int) -> None:
            nonlocal renewed
            if self.stopping:
                self._jobs.release(self._name)
                raise Cancelled
            if time.monotonic() - renewed > _RENEW_SECONDS:
                renewed = time.monotonic()
                if not self._jobs.renew(job, done, total):
                    raise Cancelled

        try:
            result = self._compute(job, progress)
        except Cancelled:
            log.info("job given up", job=job.id)
        except (Error, Refusal) as error:
            self._jobs.fail(job, str(error))
            log.warning("job failed", job=job.id, error=str(error))
        except (OSError, *ERRORS):  # of this machine, and no fault of the job's
            self._jobs.give_back(job)
            raise
        except MemoryError:
            self._jobs.fail(job, "The machine has too little memory for it: take fewer windows.")
        except Exception as error:  # a fault of the gateway's own, which would meet every worker
            self._jobs.fail(job, "The gateway failed at it: its operator finds out why in the log.")
            log.error("job failed", job=job.id, error=repr(error), trace=traceback.format_exc()[-2000:])
        else:
            seconds = round(time.monotonic() - started, 4)
            self._finish(job, Result({**result.fields, "seconds": seconds}, result.parts))
        finally:
            self._reader.close()

    def _compute(self, job: Job, progress: Progress) -> Result:
        if job.spec.kind == "rekey":
            common = self._reader, self._checker, self._store, progress
            return Rekeying(job, self._database, *common).run()
        return compute(
            job,
            self._jobs,
            self._mailbox,
            self._database.connection,
            self._reader,
            self._checker,
            self._store,
            progress,
        )

    def _finish(self, job: Job, result: Result) -> None:
        try:
            if self._jobs.finish(job, result.fields, result.parts):
                windows, seconds = result.fields["windows"], result.fields["seconds"]
                log.info("job done", job=job.id, kind=job.spec.kind, windows=windows, seconds=seconds)
        except Refusal as refusal:
            self._jobs.fail(job, refusal.sentence)
            log.warning("job failed", job=job.id, error=refusal.sentence)


def main() -> None:
    configure()
    worker = Worker(Path(sys.argv[1]), sys.argv[2], *sys.argv[4:])

    def stop(*_: object) -> None:
        worker.stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's: who started it decides
    worker.run(int(sys.argv[3]))


if __name__ == "__main__":
    main()

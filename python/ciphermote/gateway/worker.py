# SPDX-License-Identifier: Apache-2.0
"""A worker: a process that leases jobs of a gateway's directory, one after the other, and computes them.

    python -m ciphermote.gateway.worker DIRECTORY NAME PARENT [--database URL] [--compute HOST:PORT]
        [--status FD]

Serve starts the configured number of workers. A worker ends by itself when PARENT, the process that started
it, has ended. It leases nothing while its executor cannot be used, and writes why, as a line, to the file
descriptor FD; an empty line once it can be used.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
import traceback
from pathlib import Path

from ciphermote.base.errors import Error, ParameterError
from ciphermote.gateway import telemetry
from ciphermote.gateway.computing import Cancelled, Progress, Result, Site, compute
from ciphermote.gateway.database.interface import ERRORS
from ciphermote.gateway.database.opening import open_database
from ciphermote.gateway.executors.interface import Executor, ExecutorUnavailable, TaskLost
from ciphermote.gateway.executors.opening import open_executor
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
_EXECUTOR_SECONDS = 2.0
_STORAGE_SECONDS = 2.0


class Worker:
    """A worker. stop: set by a signal; the present job is returned to the queue."""

    def __init__(
        self,
        folder: Path,
        name: str,
        database: str | None = None,
        compute: str | None = None,
        status: int | None = None,
    ) -> None:
        self._database = open_database(folder, database)
        self._database.watch()
        self._store = open_store(folder, self._database.connection)
        self._reader = self._store.reader()
        self._jobs = Jobs(self._database, self._store)
        wrapper = Wrapper(folder / WRAP_KEY_FILE)
        mailbox, checker = Mailbox(self._database, self._store, wrapper), WindowChecker(self._reader, wrapper)
        connection = self._database.connection
        self._site = Site(self._jobs, mailbox, connection, self._store, checker)
        self._compute = compute
        self._executor: Executor | None = None
        self._status = status
        self._name = name
        self.stopping = False

    def run(self, parent: int) -> None:
        """Lease and compute jobs until stopped. parent: passed by the parent, because it may have ended
        before this process can ask."""
        while not self.stopping and os.getppid() == parent:
            try:
                if self._opened() is None:
                    time.sleep(_EXECUTOR_SECONDS)
                    continue
                job = self._jobs.lease(self._name)
                if job is None:
                    time.sleep(_IDLE_SECONDS)
                else:
                    with telemetry.span("job", job=job.id, kind=job.spec.kind):
                        self._work(job)
            except ExecutorUnavailable as error:
                self._close_executor(str(error))
            except (OSError, *ERRORS) as error:
                # A full disk, say, which is no fault of the job's: its lease ends, or never began.
                log.error("storage", error=repr(error))
                time.sleep(_STORAGE_SECONDS)

    def _opened(self) -> Executor | None:
        """Return the executor; None while it cannot be used."""
        if self._executor is None:
            try:
                self._executor = open_executor(self._compute)
            except (ExecutorUnavailable, ParameterError) as error:
                self._report(str(error))
                return None
            self._report("")
            if self._compute is not None:
                _on_stop(self)  # Ray has taken the signals
        return self._executor

    def _close_executor(self, reason: str) -> None:
        executor, self._executor = self._executor, None
        self._report(reason)
        if executor is not None:
            executor.close()

    def _report(self, reason: str) -> None:
        """Tell why jobs wait; nothing, once they are computed."""
        if reason:
            log.error("computing", error=reason)
        if self._status is not None:
            os.write(self._status, f"{reason}\n".encode())

    def _work(self, job: Job) -> None:
        executor = self._opened()
        assert executor is not None
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
            result = self._result_of(job, executor, progress)
        except Cancelled:
            log.info("job given up", job=job.id)
        except (Error, Refusal) as error:
            self._jobs.fail(job, str(error))
            log.warning("job failed", job=job.id, error=str(error))
        except (OSError, *ERRORS):  # of this machine, and no fault of the job's
            self._jobs.give_back(job)
            raise
        except TaskLost as error:  # as if this worker had died: what ends every process fails at last
            self._jobs.release(self._name)
            log.error("task lost", job=job.id, error=str(error))
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

    def _result_of(self, job: Job, executor: Executor, progress: Progress) -> Result:
        if job.spec.kind == "rekey":
            common = self._reader, self._site.checker, self._store, progress
            return Rekeying(job, self._database, *common).run()
        return compute(job, self._site, executor, progress)

    def _finish(self, job: Job, result: Result) -> None:
        try:
            if self._jobs.finish(job, result.fields, result.parts):
                windows, seconds = result.fields["windows"], result.fields["seconds"]
                log.info("job done", job=job.id, kind=job.spec.kind, windows=windows, seconds=seconds)
        except Refusal as refusal:
            self._jobs.fail(job, refusal.sentence)
            log.warning("job failed", job=job.id, error=refusal.sentence)


def _on_stop(worker: Worker) -> None:
    """Have signals stop the worker."""

    def stop(*_: object) -> None:
        worker.stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's: who started it decides


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("name")
    parser.add_argument("parent", type=int)
    parser.add_argument("--database")
    parser.add_argument("--compute")
    parser.add_argument("--status", type=int)
    given = parser.parse_args()
    configure()
    telemetry.configure("ciphermote-worker")
    worker = Worker(given.directory, given.name, given.database, given.compute, given.status)
    _on_stop(worker)
    worker.run(given.parent)


if __name__ == "__main__":
    main()

"""The queues between requests and the model.

There are two lanes, each with threads of its own, so that a query does not wait
for a thousand passages. A thread computes a batch on one core, so the batches of
one request are computed by all threads of the lane. Requests take turns a batch at
a time. The number of texts that wait in a lane is bounded; a request that exceeds
it is refused immediately."""

import collections
import os
import threading

from serving import log

MAX_PADDED_TOKENS = 1024  # of a batch: bounds its memory, and how long it takes


class Overloaded(Exception):
    """The lane is full."""


class Job:
    """The texts of one request, as token ids, and their vectors once done is set."""

    def __init__(self, ids):
        self.ids = ids
        self.vectors = [None] * len(ids)
        self.failed = False
        self.abandoned = False  # whoever asked has left
        self.done = threading.Event()
        # Texts of like length go together, so that little is computed for nothing.
        self.order = collections.deque(sorted(range(len(ids)), key=lambda i: len(ids[i])))
        self.missing = len(ids)


class Lane:
    """One queue and the threads that empty it. They may have a lower priority, so that
    they yield the processors to other threads and processes."""

    def __init__(self, name, model, batch, limit, threads, niceness=0):
        self.model, self.batch, self.limit, self.niceness = model, batch, limit, niceness
        self.changed = threading.Condition()
        self.jobs = collections.deque()
        self.waiting = 0  # texts
        for number in range(threads):
            threading.Thread(target=self.run, name=f"{name} {number}", daemon=True).start()

    def submit(self, job):
        with self.changed:
            if self.waiting + len(job.ids) > self.limit:
                raise Overloaded
            self.jobs.append(job)
            self.waiting += len(job.ids)
            self.changed.notify()

    def run(self):
        try:
            if self.niceness:
                os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + self.niceness)
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.jobs)
                    batch = self.next_batch()
                    if self.jobs:  # for another thread
                        self.changed.notify()
                if batch:
                    self.compute(batch)
        except BaseException as e:  # without the lane nothing works: be started again
            log(f"the lane {threading.current_thread().name} broke: {type(e).__name__}: {e}")
            os._exit(1)

    def next_batch(self):
        """Takes texts off the queue: of the first request as many as a batch holds,
        and of those behind it what still fits. A request that has more goes to the
        end of the queue."""
        batch, longest = [], 0
        for _ in range(len(self.jobs)):
            job = self.jobs.popleft()
            if job.abandoned:
                self.waiting -= len(job.order)
                continue
            while job.order and len(batch) < self.batch:
                length = max(longest, len(job.ids[job.order[0]]))
                if batch and length * (len(batch) + 1) > MAX_PADDED_TOKENS:
                    break
                longest = length
                batch.append((job, job.order.popleft()))
                self.waiting -= 1
            if job.order:
                self.jobs.append(job)
                break
        return batch

    def compute(self, batch):
        try:
            vectors = self.model.vectors([job.ids[i] for job, i in batch])
        except Exception as e:  # a defect, or no memory: the requests fail, the lane goes on
            log(f"a batch of {len(batch)} failed: {type(e).__name__}: {e}")
            vectors = [None] * len(batch)
        with self.changed:  # several threads may compute texts of one job
            for (job, i), vector in zip(batch, vectors):
                job.vectors[i] = vector
                job.failed |= vector is None
                job.missing -= 1
                if job.missing == 0:
                    job.done.set()

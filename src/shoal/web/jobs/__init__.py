"""Work that takes longer than a page: a queue with leases, a worker, and a child process a job."""

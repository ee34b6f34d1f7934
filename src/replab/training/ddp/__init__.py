"""One training by several processes (torch's DistributedDataParallel), each with a share of every batch."""

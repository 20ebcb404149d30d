"""When and where work runs: schedules, queues, workers and their heartbeats."""

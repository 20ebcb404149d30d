"""Search results on their way to who reads them: bundles, their scores, and a cursor that survives any kill."""

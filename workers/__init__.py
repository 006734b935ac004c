"""The Celery worker: claims jobs through the JobPort, runs the core in a child process, reports what it says."""

"""What is decided before the first job. Plain Python, so that tests need no workflow."""

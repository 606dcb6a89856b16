"""Local learners helped by public unlabelled data: private estimates, robust learners, self-training."""

"""The local model: users answer through private kernels, and nobody is trusted with their inputs."""

"""`kernelcat up` and `kernelcat worker`: the services of this machine as child processes that never outlive us."""

from kernelcat_core.supervise.services import up, worker

__all__ = ["up", "worker"]

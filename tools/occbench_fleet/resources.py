# SPDX-License-Identifier: Apache-2.0
"""The resources of a card that are judged, and which of them bounds a case."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    """`measure` is the column of a row that measures it, on a log scale and larger for the worse card.

    seconds where the memory's clock decides, cycles elsewhere: a low SM clock is then odd by itself, and not
    in every resource. The L2's clock follows the SMs', and so does most of a load's latency: good cards lie
    closer together in cycles. `worse` and `better` are words for people.
    """

    name: str
    measure: str
    worse: str = "slower"
    better: str = "faster"


RESOURCES = (
    Resource("DRAM", "seconds"),
    Resource("L2", "cycles"),
    Resource("memory latency", "cycles", "longer", "shorter"),
    Resource("L1", "cycles"),
    Resource("SM", "cycles"),
    Resource("clock", "clock", "lower", "higher"),
    Resource("power", "power", "higher", "lower"),
)
BY_NAME = {resource.name: resource for resource in RESOURCES}
OF_BOUND = {
    "DRAM": "DRAM", "L2": "L2", "L1": "L1", "shared memory": "L1", "pipe": "SM", "issue": "SM",
    "register port": "SM",
}  # fmt: skip
OF_CEILING = {"dram": "DRAM", "l1": "L1", "shared_memory": "L1", "fp32": "SM", "issue": "SM"}
OF_CEILING |= {"tensor_bf16": "SM"}
NEAR = 70.0  # percent of a ceiling, from which on a case without a prediction counts as bound by it


def resource_of(bound: str | None, ceiling: str | None, percent: float | None) -> str | None:
    """The resource that bounds a case by the model, or whose ceiling it comes near.

    None: by no one resource (the tail of a launch), or nobody knows. A chain of arithmetic waits for the SM,
    one of loads for the memory.
    """
    if bound == "latency":
        return "memory latency" if ceiling == "dram" else "L1" if ceiling in ("l1", "shared_memory") else "SM"
    if bound:
        return OF_BOUND.get(bound)
    if ceiling in OF_CEILING and percent is not None and percent >= NEAR:
        return OF_CEILING[ceiling]
    return None

"""``Isotherm::Placement::Group``: a rule on the relative placement of resources."""

from orchestrator.placement.rules import RACK, Policy
from orchestrator.plugins.constraints import AllowedValues, Range
from workers.resources.core.row import RowResource
from workers.resources.schemas import boolean, integer, text


class PlacementGroup(RowResource):
    """A rule on the nodes of all resources with it in their ``groups``, in this stack or in others of the project.

    It applies at each placement: a change of the rule moves nothing that is placed already.
    """

    description = (
        "A rule for the nodes of the resources that name it in their groups: together, apart, or spread over "
        "racks."
    )
    example = """\
heat_template_version: 2021-04-16
resources:
  apart:
    type: Isotherm::Placement::Group
    properties:
      policy: different_host
      hard: false
  one:
    type: Isotherm::Node::Process
    properties:
      command: [sleep, "60"]
      groups: [{get_resource: apart}]
  other:
    type: Isotherm::Node::Process
    properties:
      command: [sleep, "60"]
      groups: [{get_resource: apart}]
"""
    properties_schema = {
        "policy": text(
            "The rule on its members' nodes: that they are one node, all different, in one "
            "rack, all in different racks, or spread evenly over so many racks.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(tuple(str(each) for each in Policy)),),
        ),
        "racks": integer(
            "For spread_racks, the smallest number of racks, if there are as many members; no rack has more "
            "than its share of them.",
            default=2,
            update_allowed=True,
            constraints=(Range(1, 1000),),
        ),
        "hard": boolean(
            "Whether violations of the rule are refused; else they are avoided as far as possible.",
            default=True,
            update_allowed=True,
        ),
        "label": text("The label of nodes that names their rack.", default=RACK, update_allowed=True),
    }

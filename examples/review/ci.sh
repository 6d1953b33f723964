#!/bin/sh
# The two jobs of a pipeline: `ci.sh plan` on a change, and `ci.sh apply` when it is merged.
#
# STACK is the stack's name, PLAN the file of the plan, and REVIEW the text for the comment of the review. Between the
# two jobs the file of the plan is kept as an artifact of the pipeline.
set -eu
here=$(dirname "$0")
stack=${STACK:-service}
plan=${PLAN:-service.plan}
review=${REVIEW:-review.md}

case "${1:-}" in
plan)
    rm -f "$plan"
    code=0
    isotherm stack plan "$stack" -t "$here/service.yaml" -e "$here/production.yaml" \
        --exit-code -o "$plan" -f markdown >"$review" || code=$?
    case $code in
    0)
        rm -f "$plan"
        echo "nothing is to be done"
        ;;
    2) echo "there are changes: see $review" ;;
    *) exit "$code" ;;
    esac
    ;;
apply)
    if [ -e "$plan" ]; then
        isotherm stack apply "$plan" --comment "${COMMENT:-merged}"
    else
        echo "nothing is to be done"
    fi
    ;;
*)
    echo "usage: $0 plan|apply" >&2
    exit 64
    ;;
esac

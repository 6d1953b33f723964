// What is done to many stacks at once, in words.

export const VERBS = Object.freeze({
  check: "Check",
  suspend: "Suspend",
  resume: "Resume",
  snapshot: "Snapshot",
  retry: "Try again",
  cancel: "Cancel",
  delete: "Delete",
});

/** What happens to each stack. */
export const EACH = Object.freeze({
  check: "its resources are compared with the objects that they stand for",
  suspend: "all its resources are suspended",
  resume: "its suspended resources are resumed",
  snapshot: "a snapshot of it is taken",
  retry: "it is updated with its present definition",
  cancel: "its operation under way ends",
  delete: "it is deleted, with all its resources",
});

/** Those that destroy something: they are confirmed by typing the number of stacks. */
export const DESTROYS = Object.freeze(new Set(["cancel", "delete"]));

// The editor of a new stack, or of another definition of a stack: validated as one types, previewed, and carried out.

import { byId, el, isType, page, setText, typeUrl } from "./dom.js";
import { onDrop } from "./drop.js";
import { parameterForm } from "./edit_form.js";
import { planElements } from "./edit_plan.js";
import { presentPairs } from "./edit_present.js";
import { sourceField } from "./edit_source.js";
import { counted } from "./format.js";
import { sendOrder } from "./order.js";
import { savePlan } from "./plan_file.js";
import { fetchJson } from "./stream.js";

const PAUSE = 400; // Milliseconds without a key before the draft is validated.
const START = "heat_template_version: 2021-04-16\n\nresources:\n";

const { stack, stackName, stacks, refused, any } = page();
const files = new Map();
let shown = null; // The definition that an update began with, and the ids of the stack and its operation.
let waiting = 0;
let asked = null; // The validation under way.
let isSeen = false; // Whether the plan of exactly this draft was shown.
let isBusy = false;

const address = (step) => `${stack ?? stacks}/act/${step}`;
const template = sourceField(byId("template-editor"), { label: "Template", changed });
const environment = sourceField(byId("environment-editor"), { label: "Environment", changed });
let form = null;

function draft() {
  const { parameters, cleared } = form.read();
  return {
    template: template.text(),
    environment: environment.text(),
    files: Object.fromEntries(files),
    parameters,
    name: stack ? stackName : byId("name").value.trim(),
    ...options(),
    ...(stack ? { cleared, stack_id: shown.stack_id, traversal_id: shown.traversal_id, ...removed() } : {}),
  };
}

/** The options that differ from those that the page showed. */
function options() {
  const [tags, timeout, rollback] = ["tags", "timeout", "rollback"].map(byId);
  return {
    ...(tags.value === tags.defaultValue ? {} : { tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean) }),
    ...timeoutOf(timeout),
    ...(rollback.checked === rollback.defaultChecked ? {} : { rollback: rollback.checked }),
  };
}

/** Emptied, it asks for the default again; what is no number is left to the field itself. */
function timeoutOf({ value, defaultValue, valueAsNumber, validity }) {
  if (value === defaultValue || validity.badInput) return {};
  return value ? { timeout_minutes: valueAsNumber } : { default_timeout: true };
}

/** Whether the draft takes objects into the stack, rather than changing it. */
function takesObjects() {
  return Boolean(stack) && byId("objects").value.trim() !== "";
}

/** What an import takes in; nothing of an update. */
function objects() {
  return takesObjects() ? { objects: byId("objects").value } : {};
}

function removed() {
  return { removed_environments: shown.environments.removed(), removed_files: shown.files.removed() };
}

function changed() {
  if (!form) return;
  if (stack) setText(byId("go"), takesObjects() ? "Import objects" : "Update stack");
  isSeen = false;
  offer();
  byId("plan").replaceChildren();
  setText(byId("plan-said"), "Nothing is changed before you have seen what would be.");
  clearTimeout(waiting);
  waiting = setTimeout(validate, PAUSE);
}

function offer() {
  byId("preview").setAttribute("aria-disabled", String(isBusy || Boolean(refused)));
  for (const id of ["save-plan", "go"]) byId(id).setAttribute("aria-disabled", String(isBusy || !isSeen || Boolean(refused)));
  // No plan is made of an import.
  byId("save-plan").hidden = takesObjects();
}

async function validate() {
  if (refused) return;
  asked?.abort();
  asked = new AbortController();
  try {
    const found = await sendOrder(address("validate"), draft(), { signal: asked.signal });
    if (found.parameters) form.show(found);
    showProblems(found.problems ?? [], Boolean(found.parameters));
  } catch (problem) {
    if (problem.name !== "AbortError") showProblems(problem.problems ?? [{ message: problem.message, path: "", position: null }], false);
  }
}

/** The field in which a problem is; null for one that is elsewhere. */
function fieldOf({ position }) {
  if (position === null) return null;
  if (position.file === (shown?.file ?? "template")) return template;
  return position.file === "environment" ? environment : null;
}

/** Link the types that the template has with their pages, in another tab: the draft is in this one. */
function showTypes() {
  const types = template.types().filter(isType);
  byId("types").hidden = !types.length;
  const links = types.map((name) => el("a", { href: typeUrl(name), target: "_blank", text: name }));
  byId("types").replaceChildren("About (in a new tab): ", ...links.flatMap((each, at) => (at ? [", ", each] : [each])));
}

function showProblems(problems, isValid) {
  showTypes();
  for (const each of [template, environment]) each.mark(problems.filter((problem) => fieldOf(problem) === each));
  form.mark(problems);
  const place = byId("problems");
  place.dataset.state = isValid ? "valid" : "wrong";
  if (!problems.length) {
    place.replaceChildren(el("p", { class: "note", text: isValid ? "No problems." : "" }));
    return;
  }
  place.replaceChildren(el("ul", { class: "problems" }, ...problems.map(problemRow)));
}

function problemRow(problem) {
  const { message, path, position, hint } = problem;
  const field = fieldOf(problem);
  const words = position ? `${field === template ? "" : `${position.file}, `}line ${position.line}` : "";
  const there = field
    ? el("button", { type: "button", class: "place", text: words, on: { click: () => goTo(field, position) } })
    : words;
  return el("li", {}, there, `${words ? " " : ""}${path ? `${path}: ` : ""}${message}${hint ? ` (${hint})` : ""}`);
}

function goTo(field, position) {
  if (field === environment) byId("environment").open = true;
  field.goTo(position);
}

/** Send a step, with the buttons off meanwhile; problems are shown at their places. */
async function take(step, words, more = {}) {
  if (isBusy) return null;
  if (refused) {
    setText(byId("plan-said"), refused);
    return null;
  }
  isBusy = true;
  offer();
  setText(byId("plan-said"), words);
  try {
    return await sendOrder(address(step), { ...draft(), ...more });
  } catch (problem) {
    if (problem.problems) showProblems(problem.problems, false);
    setText(byId("plan-said"), problem.message);
    return null;
  } finally {
    isBusy = false;
    offer();
  }
}

byId("preview").addEventListener("click", async () => {
  const written = () => JSON.stringify([draft(), objects()]);
  const before = written();
  const plan = await take(takesObjects() ? "import_preview" : "preview", "The preview is being made…", objects());
  // What was typed meanwhile is another draft.
  if (!plan || written() !== before) return;
  isSeen = true;
  byId("plan").replaceChildren(...planElements(plan));
  setText(byId("plan-said"), plan.has_changes ? "This would be done:" : "Nothing would change.");
  offer();
});

byId("save-plan").addEventListener("click", async () => {
  if (!isSeenFirst()) return;
  const filed = await take("plan", "The plan is being made…");
  if (!filed) return;
  savePlan(filed);
  setText(byId("plan-said"), `Saved as ${filed.name}: it can be looked at and applied on the page Plans.`);
});

function isSeenFirst() {
  if (!isSeen) setText(byId("plan-said"), "Look at the preview first.");
  return isSeen;
}

byId("edit").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!isSeenFirst()) return;
  // A validation that came after it would be of a stack that has moved on.
  clearTimeout(waiting);
  asked?.abort();
  const [step, words] = takesObjects() ? ["import", "Importing…"] : stack ? ["update", "Updating…"] : ["create", "Creating…"];
  const done = await take(step, words, { comment: byId("comment").value.trim(), ...objects() });
  if (done) location.assign(`${any}${done.stack_id}`);
});

function showFiles() {
  byId("files-list").replaceChildren(
    ...[...files].map(([name, text]) =>
      el(
        "div",
        {},
        el("dt", {}, el("input", { class: "form-control form-control-sm", value: name, spellcheck: "false", "aria-label": `Name of ${name}`, on: { change: ({ target }) => renameFile(name, target.value.trim()) } })),
        el("dd", {}, `${counted(text.length, "character")} `, el("button", { type: "button", class: "btn btn-sm btn-outline-secondary", text: "Remove", "aria-label": `Remove ${name}`, on: { click: () => removeFile(name) } })),
      ),
    ),
  );
}

function removeFile(name) {
  files.delete(name);
  showFiles();
  changed();
}

/** Give a file the name that the template uses. */
function renameFile(name, next) {
  if (next && !files.has(next)) {
    files.set(next, files.get(name));
    files.delete(name);
  }
  showFiles();
  changed();
}

async function addFiles(added) {
  for (const file of added) files.set(file.name, await file.text());
  byId("files").open = true;
  showFiles();
  changed();
}

function onChosen(id, taken) {
  byId(id).addEventListener("change", async ({ target }) => {
    if (target.files.length) await taken([...target.files]);
    target.value = "";
  });
}

onChosen("template-open", async ([file]) => template.set(await file.text()));
onChosen("environment-open", async ([file]) => environment.set(await file.text()));
onChosen("files-add", addFiles);
onDrop(byId("files"), addFiles);
for (const id of ["tags", "timeout", "rollback", stack ? "objects" : "name"]) byId(id).addEventListener("input", changed);

/** Begin with the stack's present definition, or with an empty template. */
async function begin() {
  if (stack) {
    const [definition, { stack_id }] = await Promise.all([fetchJson(`${stack}/template.json`), fetchJson(`${stack}/actions.json`)]);
    shown = {
      stack_id,
      traversal_id: definition.traversal_id,
      file: definition.file,
      environments: presentPairs(byId("environments-present"), definition.environments.map((name) => [name, "present"]), changed),
      files: presentPairs(byId("files-present"), definition.files.map(([name, size]) => [name, counted(size, "character")]), changed),
    };
    form = parameterForm({ present: definition.parameters, changed });
    template.set(definition.source);
  } else {
    form = parameterForm({ present: null, changed });
    template.set(START);
  }
  offer();
}

begin().catch((problem) => {
  setText(byId("trouble"), problem.message);
  byId("trouble").hidden = false;
});

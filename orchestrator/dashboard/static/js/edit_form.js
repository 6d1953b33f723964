// The form that a template's parameters make: groups, labels, descriptions, constraints, and hidden values.

import { byId, el, setText } from "./dom.js";

function inWords(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The attributes of a field that let the browser check the rules of a parameter, as far as it can. */
function limits({ type, rules }) {
  const given = Object.assign({}, ...rules);
  const { range = {}, length = {} } = given;
  if (type === "number") return { type: "number", step: "any", min: range.min, max: range.max };
  return { minlength: length.min, maxlength: length.max, pattern: given.allowed_pattern };
}

/** The form; `present` are the values that a stack has, by name, or null for a new stack. */
export function parameterForm({ present, changed }) {
  const place = byId("parameters");
  let declared = ""; // What the form was made of.
  let fields = new Map();

  function fieldOf(parameter) {
    const { name, type, hidden, rules } = parameter;
    const common = { id: `parameter-${name}`, name, class: "form-control form-control-sm", "aria-describedby": `about-${name}` };
    const allowed = rules.find((rule) => rule.allowed_values)?.allowed_values ?? (type === "boolean" ? [true, false] : null);
    const usual = parameter.default === null ? "" : inWords(parameter.default);
    if (hidden) {
      const kept = present && name in present;
      const placeholder = kept ? "unchanged" : usual ? "default" : "";
      return el("input", { ...common, type: "password", autocomplete: "new-password", placeholder });
    }
    if (allowed) {
      const none = usual ? `default: ${usual}` : "–";
      return el(
        "select",
        { ...common, class: "form-select form-select-sm" },
        el("option", { value: "", text: none }),
        ...allowed.map((each) => el("option", { value: inWords(each), text: inWords(each) })),
      );
    }
    if (type === "json") return el("textarea", { ...common, rows: 3, spellcheck: "false", placeholder: usual });
    return el("input", { ...common, spellcheck: "false", placeholder: usual, ...limits(parameter) });
  }

  function row(parameter, typed) {
    const { name, label, description, constraints, hidden, required } = parameter;
    const field = fieldOf(parameter);
    const had = present && !hidden ? inWords(present[name]) : "";
    field.value = had;
    if (had && !field.value && field.localName === "select") {
      // The template no longer allows it.
      field.append(el("option", { value: had, text: had }));
      field.value = had;
    }
    // Fields write some values in their own way: line breaks, for one. That is no change.
    const first = field.value;
    field.value = typed.get(name) ?? first;
    field.addEventListener("input", changed);
    fields.set(name, { field, first });
    const needed = required && !(present && name in present) ? " (required)" : "";
    return el(
      "div",
      { class: "edit-field" },
      el("label", { for: field.id, text: `${label || name}${needed}` }),
      field,
      el("p", { id: `about-${name}`, class: "small muted", text: [description, ...constraints].filter(Boolean).join(" · ") }),
      el("p", { class: "small wrong", data: { wrong: name }, hidden: true }),
    );
  }

  return {
    /** Show the parameters that a template declares; what was typed stays. */
    show({ parameters, groups }) {
      const now = JSON.stringify([parameters.map((each) => ({ ...each, required: null })), groups]);
      if (now === declared) return;
      declared = now;
      const typed = new Map([...fields].map(([name, { field }]) => [name, field.value]));
      fields = new Map();
      const left = new Map(parameters.map((each) => [each.name, each]));
      const parts = [];
      for (const group of groups) {
        const names = group.parameters.filter((name) => left.has(name));
        const rows = names.map((name) => row(left.get(name), typed));
        names.forEach((name) => left.delete(name));
        const about = group.description ? el("p", { class: "note small", text: group.description }) : null;
        parts.push(el("fieldset", {}, el("legend", { text: group.label || "Parameters" }), about, ...rows));
      }
      const rest = [...left.values()].map((each) => row(each, typed));
      if (rest.length && groups.length) parts.push(el("fieldset", {}, el("legend", { text: "Others" }), ...rest));
      else parts.push(...rest);
      const none = el("p", { class: "note", text: "The template declares none." });
      place.replaceChildren(...(parts.length ? parts : [none]));
    },
    /** The values to send: those that differ from what the stack has, and the names of those that were emptied. */
    read() {
      const entries = [...fields].filter(([, { field, first }]) => field.value !== first);
      return {
        parameters: Object.fromEntries(entries.filter(([, { field }]) => field.value).map(([name, { field }]) => [name, field.value])),
        cleared: entries.filter(([, { field }]) => !field.value).map(([name]) => name),
      };
    },
    /** Show problems at the fields that they are about. */
    mark(problems) {
      for (const place_ of place.querySelectorAll("[data-wrong]")) {
        const name = place_.dataset.wrong;
        const found = problems.filter(({ path }) => path === name || path === `parameters.${name}`);
        setText(place_, found.map(({ message }) => message).join("; "));
        place_.hidden = found.length === 0;
        fields.get(name)?.field.setAttribute("aria-invalid", String(found.length > 0));
      }
    },
  };
}

// Validation by a JSON schema: the part of the standard that the recording's schema uses.

const TYPES = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === "number",
  string: (value) => typeof value === "string",
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};
const WORDS = new Set(["$schema", "$defs", "title", "description", "required", "additionalProperties", "minItems", "maxItems"]);

function short(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

// Each makes a function that returns what is wrong with a value, or null.
const KEYWORDS = {
  type(names) {
    const allowed = [names].flat();
    return (value, where) => allowed.some((name) => TYPES[name](value)) ? null
      : `${where} is ${short(value)}; expected ${allowed.join(" or ")}`;
  },
  const(expected) {
    return (value, where) => value === expected ? null : `${where} is ${short(value)}; expected ${short(expected)}`;
  },
  enum(values) {
    return (value, where) => values.includes(value) ? null : `${where} is ${short(value)}; expected one of ${short(values)}`;
  },
  minimum(least) {
    return (value, where) => typeof value !== "number" || value >= least ? null : `${where} is ${value}; expected ${least} or more`;
  },
  properties(properties, schema, root) {
    const each = new Map(Object.entries(properties).map(([name, one]) => [name, compiled(one, root)]));
    return (value, where) => {
      if (!TYPES.object(value)) return null;
      const lacking = (schema.required ?? []).find((name) => !Object.hasOwn(value, name));
      if (lacking !== undefined) return `${where} has no ${lacking}`;
      for (const [name, entry] of Object.entries(value)) {
        const known = each.get(name);
        if (!known && schema.additionalProperties === false) return `${where} has ${short(name)}, which is not in the schema`;
        const wrong = known ? known(entry, `${where}.${name}`) : null;
        if (wrong) return wrong;
      }
      return null;
    };
  },
  items(items, schema, root) {
    const one = compiled(items, root);
    const [least, most] = [schema.minItems ?? 0, schema.maxItems ?? Infinity];
    return (value, where) => {
      if (!Array.isArray(value)) return null;
      if (value.length < least || value.length > most) return `${where} has ${value.length} entries; expected ${least} to ${most}`;
      for (let number = 0; number < value.length; number += 1) {
        const wrong = one(value[number], "");
        if (wrong) return `${where}[${number}]${wrong}`;
      }
      return null;
    };
  },
  anyOf(schemas, schema, root) {
    const each = schemas.map((one) => compiled(one, root));
    return (value, where) => {
      let wrong = null;
      for (const one of each) {
        wrong = one(value, where);
        if (!wrong) return null;
      }
      return wrong;
    };
  },
  $ref(ref, schema, root) {
    return compiled(ref.replace("#/", "").split("/").reduce((inner, name) => inner[name], root), root);
  },
};

// A function (value, where) that returns what is wrong, or null.
export function compiled(schema, root = schema) {
  const checks = Object.entries(schema).filter(([word]) => !WORDS.has(word)).map(([word, wanted]) => {
    if (!KEYWORDS[word]) throw new Error(`The schema contains ${word}, which is not supported.`);
    return KEYWORDS[word](wanted, schema, root);
  });
  return (value, where) => {
    for (const check of checks) {
      const wrong = check(value, where);
      if (wrong) return wrong;
    }
    return null;
  };
}

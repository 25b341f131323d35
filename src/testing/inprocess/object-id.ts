// Durable Object ids: 64 hex digits that say which class they belong to. Ids made from a name remember it.
import { createHash } from "node:crypto";

const ID_DIGITS = 64;
const CLASS_DIGITS = 16;

export class ObjectId {
  readonly name: string | undefined;
  readonly #text: string;

  constructor(text: string, name?: string) {
    this.#text = text;
    this.name = name;
  }

  static fromName(className: string, name: string): ObjectId {
    const own = hash(`${className}/${name}`).slice(0, ID_DIGITS - CLASS_DIGITS);
    return new ObjectId(own + classDigits(className), name);
  }

  static unique(className: string, randomHex: (digits: number) => string): ObjectId {
    return new ObjectId(randomHex(ID_DIGITS - CLASS_DIGITS) + classDigits(className));
  }

  static fromText(className: string, text: string): ObjectId {
    if (!/^[0-9a-f]{64}$/i.test(text)) throw new TypeError("Invalid Durable Object ID: must be 64 hex digits");
    const id = new ObjectId(text.toLowerCase());
    if (!id.belongsTo(className)) throw new TypeError("Durable Object ID is not valid for this namespace.");
    return id;
  }

  belongsTo(className: string): boolean {
    return this.#text.endsWith(classDigits(className));
  }

  equals(other: { toString(): string }): boolean {
    return other.toString() === this.#text;
  }

  toString(): string {
    return this.#text;
  }
}

function classDigits(className: string): string {
  return hash(className).slice(0, CLASS_DIGITS);
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

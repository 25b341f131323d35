// The value of an arithmetic expression: + - * / % ^ and parentheses, decimal numbers. A small recursive parser; "^" is
// applied first and from the right, a sign next, so that -2^2 is -4. Never runs anything of the text as code. Pure.

/** Also bounds how deep parentheses can be nested. */
export const MAX_EXPRESSION_LENGTH = 200;

export class ExpressionSyntaxError extends Error {
  override readonly name = "ExpressionSyntaxError";
  constructor(expression: string, position: number, expected: string) {
    const found = position < expression.length ? `"${expression.charAt(position)}"` : "the end";
    super(`Expected ${expected} at position ${position + 1}, found ${found}.`);
  }
}

export class ExpressionTooLongError extends Error {
  override readonly name = "ExpressionTooLongError";
  constructor() {
    super(`An expression may have ${MAX_EXPRESSION_LENGTH} characters.`);
  }
}

export class DivisionByZeroError extends Error {
  override readonly name = "DivisionByZeroError";
  constructor() {
    super("A number cannot be divided by zero.");
  }
}

export class NotANumberError extends Error {
  override readonly name = "NotANumberError";
  constructor() {
    super("The result is too large, or is not a real number.");
  }
}

export function calculate(expression: string): number {
  if (expression.length > MAX_EXPRESSION_LENGTH) throw new ExpressionTooLongError();
  const value = new Parser(expression).whole();
  if (!Number.isFinite(value)) throw new NotANumberError();
  // Users do not expect to read "-0".
  return value === 0 ? 0 : value;
}

class Parser {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): number {
    const value = this.#sum();
    this.#skipSpace();
    if (this.#position < this.#text.length) this.#refuse("an operator");
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value += this.#product();
      else if (this.#take("-")) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take("*")) value *= this.#signed();
      else if (this.#take("/")) value /= divisor(this.#signed());
      else if (this.#take("%")) value %= divisor(this.#signed());
      else return value;
    }
  }

  #signed(): number {
    if (this.#take("-")) return -this.#signed();
    if (this.#take("+")) return this.#signed();
    const base = this.#atom();
    return this.#take("^") ? base ** this.#signed() : base;
  }

  #atom(): number {
    if (this.#take("(")) {
      const value = this.#sum();
      if (!this.#take(")")) this.#refuse('")"');
      return value;
    }
    const digits = /^(\d+(\.\d*)?|\.\d+)/.exec(this.#text.slice(this.#position))?.[0];
    if (digits === undefined) return this.#refuse("a number");
    this.#position += digits.length;
    return Number(digits);
  }

  #take(symbol: string): boolean {
    this.#skipSpace();
    if (this.#text.charAt(this.#position) !== symbol) return false;
    this.#position += 1;
    return true;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#position))) this.#position += 1;
  }

  #refuse(expected: string): never {
    throw new ExpressionSyntaxError(this.#text, this.#position, expected);
  }
}

function divisor(value: number): number {
  if (value === 0) throw new DivisionByZeroError();
  return value;
}

// Browsers leave "Upgrade" out of a request's headers. The host's worker reads it.
export class Request extends globalThis.Request {
  readonly #headers: Headers;

  constructor(input: RequestInfo | URL, init: RequestInit = {}) {
    const { headers, ...rest } = init;
    super(input, rest);
    this.#headers = new Headers(headers ?? (input instanceof globalThis.Request ? input.headers : undefined));
    const clone = () => new Request(super.clone() as RequestInfo, { headers: this.#headers });
    Object.defineProperty(this, "clone", { value: clone });
  }

  override get headers(): Headers {
    return this.#headers;
  }
}

// Values of objects, as bytes. The page's agent stores plain data.
export function serialize(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ value }));
}

export function deserialize(bytes: Uint8Array): unknown {
  return (JSON.parse(new TextDecoder().decode(bytes)) as { value: unknown }).value;
}

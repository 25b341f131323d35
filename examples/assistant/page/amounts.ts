// Numbers as people read them: sizes, counts and times, always in the same form.

const whole = new Intl.NumberFormat("en");
const oneDigit = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export function countText(count: number): string {
  return whole.format(count);
}

export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${oneDigit.format(bytes / 1_000)} kB`;
  return `${oneDigit.format(bytes / 1_000_000)} MB`;
}

export function clockText(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const millis = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}`;
}

export function elapsedText(milliseconds: number): string {
  return `${whole.format(Math.max(0, Math.round(milliseconds)))} ms`;
}

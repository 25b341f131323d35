// Counts primes piece by piece, so that there is real progress to show. Pure.

export const MAX_BELOW = 1_000_000;
const PIECES = 12;

export interface PrimesProgress {
  /** From 0 to 1. */
  progress: number;
  found: number;
}

export interface PrimesCount {
  count: number;
  /** Null when there is none. */
  largest: number | null;
}

/** Progress after each twelfth, then the result. */
export function* countPrimes(below: number): Generator<PrimesProgress | PrimesCount, void, undefined> {
  const divisors = primesIn(2, Math.floor(Math.sqrt(below)) + 1, []);
  let count = 0;
  let largest: number | null = null;
  for (let piece = 1; piece <= PIECES; piece += 1) {
    const from = Math.max(2, edge(below, piece - 1));
    const found = primesIn(from, edge(below, piece), divisors);
    count += found.length;
    largest = found.at(-1) ?? largest;
    yield { progress: Math.round((piece / PIECES) * 100) / 100, found: count };
  }
  yield { count, largest };
}

function edge(below: number, piece: number): number {
  return Math.floor((below * piece) / PIECES);
}

/** The primes from `from` to just below `to`. Without divisors, each number is tried against the primes found so far. */
function primesIn(from: number, to: number, divisors: readonly number[]): number[] {
  const found: number[] = [];
  const tried = divisors.length > 0 ? divisors : found;
  for (let candidate = from; candidate < to; candidate += 1) {
    if (isPrime(candidate, tried)) found.push(candidate);
  }
  return found;
}

function isPrime(candidate: number, divisors: readonly number[]): boolean {
  for (const divisor of divisors) {
    if (divisor * divisor > candidate) return true;
    if (candidate % divisor === 0) return false;
  }
  return true;
}

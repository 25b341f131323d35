// Medians and quartiles of a handful of samples, and ratios between contenders that were measured in the same rounds.

export interface Summary {
  median: number;
  /** The quartiles: half of the samples lie between them. */
  low: number;
  high: number;
  samples: number;
}

/** A value at a round; rounds are what makes two contenders comparable on a machine whose speed drifts. */
export interface Measured {
  round: number;
  value: number;
}

export function summarize(values: readonly number[]): Summary {
  return {
    median: quantile(values, 0.5),
    low: quantile(values, 0.25),
    high: quantile(values, 0.75),
    samples: values.length
  };
}

/** Between two samples it is interpolated. NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** Taken round by round where both were measured, so that a slow minute of the machine hits both sides. */
export function ratios(values: readonly Measured[], base: readonly Measured[]): number[] {
  const byRound = new Map(base.map(({ round, value }) => [round, value]));
  const paired = values.flatMap(({ round, value }) => {
    const other = byRound.get(round);
    return other === undefined || other === 0 ? [] : [value / other];
  });
  return paired;
}

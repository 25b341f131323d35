// The numbers of a run, kept by metric, contender and round.
import type { ContenderName } from "./contenders.ts";
import { METRIC_KEYS, type MetricKey, type Sample } from "./metrics.ts";
import { type Measured, quantile, ratios, summarize, type Summary } from "./statistics.ts";

export interface Failure {
  scenario: string;
  contender: ContenderName;
  message: string;
}

export class Results {
  readonly failures: Failure[] = [];
  readonly #values = new Map<string, Measured[]>();

  add(contender: ContenderName, round: number, sample: Sample): void {
    for (const key of METRIC_KEYS) {
      const value = sample[key];
      if (value === undefined) continue;
      const place = `${key}/${contender}`;
      this.#values.set(place, [...(this.#values.get(place) ?? []), { round, value }]);
    }
  }

  /** Undefined when it was not measured. */
  summary(key: MetricKey, contender: ContenderName): Summary | undefined {
    const values = this.#of(key, contender);
    return values.length === 0 ? undefined : summarize(values.map(({ value }) => value));
  }

  /** The median of the rounds' ratios to the baseline. */
  ratio(key: MetricKey, contender: ContenderName): number | undefined {
    return this.#medianRatio(this.#of(key, contender), this.#of(key, "baseline"));
  }

  /** How much one metric of a contender is of another one of the same contender. */
  ownRatio(key: MetricKey, base: MetricKey, contender: ContenderName): number | undefined {
    return this.#medianRatio(this.#of(key, contender), this.#of(base, contender));
  }

  #medianRatio(values: readonly Measured[], base: readonly Measured[]): number | undefined {
    const paired = ratios(values, base);
    return paired.length === 0 ? undefined : quantile(paired, 0.5);
  }

  #of(key: MetricKey, contender: ContenderName): readonly Measured[] {
    return this.#values.get(`${key}/${contender}`) ?? [];
  }
}

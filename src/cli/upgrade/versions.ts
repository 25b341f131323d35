// Which version an upgrade leads to, and what a changelog says on the way. Pure.

type Version = readonly [major: number, minor: number, patch: number];

/** Undefined: no version, or one before a release. */
export function readVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)$/.exec(text) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

export function compareVersions(one: string, other: string): number {
  const [first, second] = [readVersion(one) ?? [0, 0, 0], readVersion(other) ?? [0, 0, 0]];
  return first[0] - second[0] || first[1] - second[1] || first[2] - second[2];
}

/** What `^` allows: before 1.0 a new minor version may break, before 0.1 every one. */
export function isCompatible(from: string, to: string): boolean {
  const [a, b] = [readVersion(from), readVersion(to)];
  if (a === undefined || b === undefined || a[0] !== b[0]) return false;
  if (a[0] > 0) return true;
  return a[1] === b[1] && (a[1] > 0 || a[2] === b[2]);
}

export interface VersionChoice {
  /** The same as the installed one: there is nothing newer. */
  readonly target: string;
  /** A newer one that is not taken, because it may break. */
  readonly beyond: string | undefined;
}

export function chooseVersion(installed: string, published: readonly string[], isAcross: boolean): VersionChoice {
  const released = published.filter((one) => readVersion(one) !== undefined).toSorted(compareVersions);
  const newer = released.filter((one) => compareVersions(one, installed) > 0);
  const newest = newer.at(-1);
  const target = (isAcross ? newest : newer.findLast((one) => isCompatible(installed, one))) ?? installed;
  return { target, beyond: newest === target ? undefined : newest };
}

/** The sections of the versions after one, up to another, as they stand. */
export function changesBetween(changelog: string, from: string, to: string): string {
  return changelog
    .split(/^(?=## )/m)
    .filter((section) => {
      const [, version = ""] = /^## \[?v?(\d+\.\d+\.\d+)/.exec(section) ?? [];
      return version !== "" && compareVersions(version, from) > 0 && compareVersions(version, to) <= 0;
    })
    .map((section) => section.trimEnd())
    .join("\n\n");
}

/** The dependency in a package.json, with what else stands there as it is. Undefined: the package is none of it. */
export function withDependency(manifest: string, name: string, version: string): string | undefined {
  const entry = new RegExp(`("${name}"\\s*:\\s*")[^"]*(")`);
  return entry.test(manifest) ? manifest.replace(entry, `$1^${version}$2`) : undefined;
}

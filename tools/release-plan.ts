// What a release needs and what it changes, as pure functions: tools/release.ts does it.

export interface Repository {
  /** That of package.json. */
  readonly version: string;
  readonly changelog: string;
  /** As `git status --porcelain` prints it. */
  readonly status: string;
  readonly branch: string;
  readonly tags: readonly string[];
}

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-(alpha|beta|rc)\.(\d+))?$/;
const UNRELEASED = "## Unreleased\n";

/** The numbers that order versions: a pre-release comes before its release. Undefined: not a version. */
function parse(version: string): number[] | undefined {
  const match = VERSION.exec(version);
  if (!match) return undefined;
  const [, major, minor, patch, stage, count] = match;
  const order = stage === undefined ? 3 : ["alpha", "beta", "rc"].indexOf(stage);
  return [major, minor, patch, order, count ?? 0].map(Number);
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

/** `wanted` is a version, or the part of today's that goes up. */
export function nextVersion(today: string, wanted: string): string {
  const [major = 0, minor = 0, patch = 0, order] = parse(today) ?? [];
  if (wanted === "major") return `${String(major + 1)}.0.0`;
  if (wanted === "minor") return `${String(major)}.${String(minor + 1)}.0`;
  // 0.2.0-rc.1 goes up to 0.2.0.
  if (wanted === "patch") return `${String(major)}.${String(minor)}.${String(order === 3 ? patch + 1 : patch)}`;
  return wanted;
}

/** What stands in the way, in sentences; empty: the version can be released. */
export function obstacles({ version, changelog, status, branch, tags }: Repository, next: string): string[] {
  const wanted = parse(next);
  if (!wanted) return [`"${next}" is not a version: write 0.2.0, 0.2.0-rc.1, major, minor or patch.`];
  const today = parse(version) ?? [];
  // The first release has the version that package.json has had from the start.
  const isFirst = tags.length === 0 && next === version;
  const notes = notesOf(changelog);
  return [
    ...(isFirst || compare(wanted, today) > 0 ? [] : [`${next} is not above ${version}.`]),
    ...(tags.includes(`v${next}`) ? [`v${next} is already a tag.`] : []),
    ...(branch === "main" ? [] : [`Releases are made on main, and this is ${branch || "no branch"}.`]),
    ...(status === "" ? [] : ["Files are changed and not committed:", ...status.trimEnd().split("\n")]),
    ...(notes === undefined ? ['CHANGELOG.md has no section "## Unreleased".'] : []),
    ...(notes === "" ? ['"## Unreleased" of CHANGELOG.md is empty: users read there what is new.'] : []),
    ...(notes !== undefined && isPatch(today, wanted) && /^### (?:Removed|Breaking)/m.test(notes)
      ? ["A patch version must not break anything, and the changelog says that something is removed or breaks."]
      : [])
  ];
}

const isPatch = (today: readonly number[], next: readonly number[]): boolean =>
  today[0] === next[0] && today[1] === next[1] && today[2] !== next[2];

/** What users read about the version. */
export function notesOf(changelog: string): string | undefined {
  const start = changelog.indexOf(UNRELEASED);
  if (start === -1) return undefined;
  const rest = changelog.slice(start + UNRELEASED.length);
  const end = rest.search(/^## /m);
  return (end === -1 ? rest : rest.slice(0, end)).trim();
}

/** The changelog with today's "Unreleased" under the version, and an empty "Unreleased" above it. */
export function releasedChangelog(changelog: string, next: string, date: string): string {
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${next} (${date})\n`);
}

/** A package.json, or its lock file, with another version; `create-everthink` also depends on it. */
export function withVersion(manifest: string, next: string): string {
  const read = JSON.parse(manifest) as {
    version: string;
    packages?: Record<string, { version?: string }>;
    dependencies?: Record<string, string>;
  };
  read.version = next;
  const own = read.packages?.[""];
  if (own) own.version = next;
  if (read.dependencies?.["everthink"] !== undefined) read.dependencies["everthink"] = next;
  return `${JSON.stringify(read, null, 2)}\n`;
}

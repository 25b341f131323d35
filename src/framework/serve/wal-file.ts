// What can be read from the two files SQLite keeps beside a database that is in use: the write-ahead log with the newest
// commits, and the index of that log, which says how many of its frames were committed and how many of them have been
// copied into the database. Formats: https://www.sqlite.org/walformat.html and https://www.sqlite.org/fileformat.html. Pure.

const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The lowest bit says in which byte order the checksums were computed. */
const LOG_MAGIC = 0x377f0682;
const INDEX_HEADER_BYTES = 48;
/** Behind the two copies of its header. */
const COPIED_FRAMES_AT = 2 * INDEX_HEADER_BYTES;

export interface LogIndex {
  /** Frames of the log that are committed. */
  committed: number;
  /** Of these, how many are in the database already. */
  copied: number;
  /** Changes with every new log: an index of another log says nothing about this one. */
  salt: string;
}

/** Undefined: it is not an index, or was not finished. */
export function readLogIndex(file: Uint8Array): LogIndex | undefined {
  if (file.byteLength < COPIED_FRAMES_AT + 4) return undefined;
  const [first, second] = [file.subarray(0, INDEX_HEADER_BYTES), file.subarray(INDEX_HEADER_BYTES, COPIED_FRAMES_AT)];
  if (Buffer.compare(first, second) !== 0 || first[12] !== 1) return undefined;
  // In the machine's own byte order, which is this one on every machine workerd runs on.
  const view = new DataView(file.buffer, file.byteOffset);
  return {
    committed: view.getUint32(16, true),
    copied: view.getUint32(COPIED_FRAMES_AT, true),
    salt: Buffer.from(file.subarray(32, 40)).toString("hex")
  };
}

export interface LogContent {
  /** Frames SQLite will take: those up to the last commit before the first that is damaged. */
  usable: number;
  salt: string;
  /** Behind them stands a frame of this log that was damaged. */
  isDamaged: boolean;
}

/** Undefined: there is nothing SQLite could read, not even the header. */
export function readLog(file: Uint8Array): LogContent | undefined {
  if (file.byteLength < LOG_HEADER_BYTES) return undefined;
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const magic = view.getUint32(0);
  if ((magic & ~1) !== LOG_MAGIC) return undefined;
  const sum = new Checksum((magic & 1) === 0);
  sum.add(view, 0, LOG_HEADER_BYTES - 8);
  if (!sum.equals(view, LOG_HEADER_BYTES - 8)) return undefined;
  const pageBytes = view.getUint32(8) || 65_536;
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const isOfThisLog = (at: number) =>
    view.getUint32(at + 8) === view.getUint32(16) && view.getUint32(at + 12) === view.getUint32(20);
  let usable = 0;
  let at = LOG_HEADER_BYTES;
  for (let frame = 1; at + frameBytes <= file.byteLength && isOfThisLog(at); frame += 1) {
    sum.add(view, at, 8);
    sum.add(view, at + FRAME_HEADER_BYTES, pageBytes);
    if (!sum.equals(view, at + 16)) break;
    // A frame that ends a transaction says how large the database is after it.
    if (view.getUint32(at + 4) !== 0) usable = frame;
    at += frameBytes;
  }
  const isDamaged = at + frameBytes <= file.byteLength && isOfThisLog(at);
  return { usable, salt: Buffer.from(file.subarray(16, 24)).toString("hex"), isDamaged };
}

export type LogProblem = "missing" | "damaged";

/** Whether commits were lost. `log` is null when the file is not there, undefined when it cannot be read. */
export function logProblem(log: LogContent | null | undefined, index: LogIndex | undefined): LogProblem | undefined {
  const isNeeded = index !== undefined && index.committed > index.copied;
  if (log === null) return isNeeded ? "missing" : undefined;
  if (log === undefined) return isNeeded || index === undefined ? "damaged" : undefined;
  if (index?.salt === log.salt) return isNeeded && log.usable < index.committed ? "damaged" : undefined;
  return log.isDamaged ? "damaged" : undefined;
}

/** SQLite's own: cumulative, over pairs of 32-bit words. */
class Checksum {
  #first = 0;
  #second = 0;
  readonly #isLittleEndian: boolean;

  constructor(isLittleEndian: boolean) {
    this.#isLittleEndian = isLittleEndian;
  }

  add(view: DataView, from: number, sizeBytes: number): void {
    for (let at = from; at < from + sizeBytes; at += 8) {
      this.#first = (this.#first + view.getUint32(at, this.#isLittleEndian) + this.#second) >>> 0;
      this.#second = (this.#second + view.getUint32(at + 4, this.#isLittleEndian) + this.#first) >>> 0;
    }
  }

  equals(view: DataView, at: number): boolean {
    return view.getUint32(at) === this.#first && view.getUint32(at + 4) === this.#second;
  }
}

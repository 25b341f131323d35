// The way from the front Worker inside workerd to the supervisor outside: a socket in a folder that only this user can
// open. The one thing that can be said through it is "kill me". The folder is made at the start and removed at the end;
// when this process is killed, the lifeline removes it.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The kernel takes no longer address of a socket (108 bytes on Linux, 104 on macOS, with the zero at the end). */
const LONGEST_SOCKET_PATH = 100;

/** The answer's way to the browser. Without one, browsers send the request again, and would kill the next process too. */
const ANSWER_MS = 50;

export class Plug {
  readonly folder: string;
  readonly socketPath: string;
  readonly #server: Server;
  #pull: (() => void) | undefined;

  private constructor(folder: string) {
    this.folder = folder;
    this.socketPath = join(folder, "plug");
    this.#server = createServer((_request, response) => {
      const pull = this.#pull;
      response.writeHead(pull ? 202 : 503).end();
      if (pull) setTimeout(pull, ANSWER_MS);
    });
  }

  static async open(temporaryFolder = tmpdir()): Promise<Plug> {
    const isShort = Buffer.byteLength(join(temporaryFolder, "everthink-XXXXXX", "plug")) <= LONGEST_SOCKET_PATH;
    const plug = new Plug(mkdtempSync(join(isShort ? temporaryFolder : "/tmp", "everthink-")));
    try {
      plug.#server.listen(plug.socketPath);
      await once(plug.#server, "listening");
      return plug;
    } catch (error) {
      plug.close();
      throw error;
    }
  }

  /** Resolves at the next pull, never after `over`. One at a time. */
  untilPulled(over: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#pull = resolve;
      over.addEventListener("abort", () => (this.#pull = undefined), { once: true });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

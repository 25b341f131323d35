// A port that is free now. Only for programs that cannot be given 0: another process may take it before they do.
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

export async function freePort(host = "127.0.0.1"): Promise<number> {
  const probe = createServer().listen(0, host);
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

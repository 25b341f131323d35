// Whether an address can be listened on, asked before any data is touched. It may still be taken a moment later; then
// workerd says so.
import { createServer } from "node:net";
import { PortTakenError, serveErrors } from "./errors.ts";

export function requireFreeAddress(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => reject(addressError(error.code ?? "", host, port)));
    server.listen({ host: host === "*" ? undefined : host, port, exclusive: true }, () =>
      server.close(() => resolve())
    );
  });
}

function addressError(code: string, host: string, port: number): Error {
  switch (code) {
    case "EADDRINUSE":
      return new PortTakenError(port);
    case "EACCES":
      return serveErrors.AddressError(
        `This user may not listen on port ${port}.`,
        "Ports below 1024 need a privilege: see --port."
      );
    case "EADDRNOTAVAIL":
      return serveErrors.AddressError(`${host} is not an address of this machine.`);
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return serveErrors.AddressError(`The host name ${host} is not known.`);
    default:
      return serveErrors.AddressError(`Cannot listen on ${host}, port ${port} (${code}).`);
  }
}

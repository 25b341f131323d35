import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { Boundary } from "./parts.tsx";
import { readConfig, startAddress } from "./source.ts";

const place = document.getElementById("studio");
if (place) {
  const root = createRoot(place);
  const open = async () => {
    const config = await readConfig();
    const start = await startAddress(config);
    root.render(
      <Boundary of="">
        <App config={config} start={start} />
      </Boundary>
    );
  };
  open().catch(() => {
    root.render(<p className="empty">Studio's server does not answer. Start it again: everthink studio</p>);
  });
}

import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { readConfig } from "./source.ts";

const place = document.getElementById("studio");
if (place) {
  const root = createRoot(place);
  readConfig().then(
    (config) => root.render(<App config={config} />),
    () => root.render(<p className="empty">Studio's server does not answer. Start it again: everthink studio</p>)
  );
}

import { applyStoredTheme, Chat, Notice } from "everthink/react";
import { createRoot } from "react-dom/client";
import "everthink/react/styles.css";
import "./style.css";
import { readSession } from "./session.ts";
import { greeting, suggestions, title } from "./suggestions.ts";

document.title = title;
applyStoredTheme();
const session = await readSession();
const root = document.getElementById("root");
if (session && root) {
  const { user, model } = session;
  // The person's own agent; /?name=ada is Ada's, for those whom src/login.ts lets in.
  const name = new URLSearchParams(location.search).get("name") ?? session.agent;
  const address = { agent: "assistant", name };
  const controls = (
    <form className="account" method="post" action="/logout">
      <span>
        {user} · {model.label}
      </span>
      <button className="think-line-button">Log out</button>
    </form>
  );
  const notice = model.problem === undefined ? null : <Notice kind="problem">{model.problem}</Notice>;
  const page = { title, greeting, suggestions, controls, notice };
  createRoot(root).render(<Chat {...address} {...page} />);
}

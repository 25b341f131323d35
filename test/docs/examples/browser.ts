import { openai } from "@ai-sdk/openai";
import { Think } from "everthink";
import { cloudflareBrowser } from "everthink/browser";

export class Shopper extends Think {
  override browser = cloudflareBrowser();

  override getModel() {
    return openai("gpt-5");
  }
}

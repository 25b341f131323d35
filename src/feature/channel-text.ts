// What is said in a channel outside of a stream: a notice, or an attachment of a reply as text.

/** A text for a channel. Providers that have cards show the card in the place of the text. */
export type ChannelText = string | { readonly markdown: string; readonly card?: ChannelCard };

/** A card element of the Chat SDK: texts, sections, fields, images, links, dividers, tables and buttons. */
export interface ChannelCard {
  readonly type: "card";
  readonly title?: string;
  readonly subtitle?: string;
  readonly imageUrl?: string;
  readonly children: readonly { readonly [field: string]: unknown }[];
}

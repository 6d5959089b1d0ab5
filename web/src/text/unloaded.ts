// What the first script says when the page's own code, with all other texts, cannot be had.
export const unloaded = {
  en: "The page could not be loaded; relaycodex may have ended. No message was sent. Run “relaycodex url” for a fresh address, or start relaycodex again. (page.not_loaded)",
  ja: "ページを読み込めませんでした。relaycodex が終了した可能性があります。メッセージは送信していません。「relaycodex url」で新しいアドレスを取得するか、relaycodex を再起動してください。（page.not_loaded）",
};

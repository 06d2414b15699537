"""Models, searches and data of GluonNLP."""

import mxnet as mx
import numpy as np
from common import arrays, asked, case, fill, filled, image


def tokens(batch, length, top=30):
    return mx.nd.array(np.random.RandomState(5).randint(1, top, (batch, length)))


@case
def nlp_bert():
    from gluonnlp.model.bert import BERTEncoder, BERTModel

    encoder = BERTEncoder(
        units=16, hidden_size=32, num_layers=2, num_heads=4, max_length=12, dropout=0.0
    )
    net = BERTModel(
        encoder,
        30,
        token_type_vocab_size=2,
        units=16,
        embed_size=16,
        use_classifier=True,
        use_decoder=True,
    )
    ids, kinds = tokens(2, 8), mx.nd.zeros((2, 8))
    lengths, masked = mx.nd.array([8, 5]), mx.nd.array([[1, 3], [2, 4]])
    given = ids, kinds, lengths, masked
    filled(net, *given)
    plain = asked(net, *given)
    net.hybridize(static_alloc=True)
    return plain + asked(net, *given, train=False)


@case
def nlp_encoder():
    from gluonnlp.model.transformer import TransformerEncoder

    net = TransformerEncoder(
        units=16, hidden_size=32, num_layers=2, num_heads=4, max_length=12, dropout=0.0
    )
    x = image(2, 8, 16)
    return asked(filled(net, x), x)


@case
def nlp_transformer():
    import gluonnlp as nlp
    from gluonnlp.model.transformer import get_transformer_encoder_decoder
    from gluonnlp.model.translation import NMTModel

    vocab = nlp.Vocab(nlp.data.count_tokens(list("abcdefghij")))
    encoder, decoder, one_step = get_transformer_encoder_decoder(
        num_layers=2,
        num_heads=4,
        units=16,
        hidden_size=32,
        max_src_length=10,
        max_tgt_length=10,
        dropout=0.0,
    )
    net = NMTModel(vocab, vocab, encoder, decoder, one_step, embed_size=16)
    given = tokens(2, 6, 10), tokens(2, 5, 10), mx.nd.array([6, 4]), mx.nd.array([5, 3])
    return asked(filled(net, *given), *given)


@case
def nlp_attention():
    import gluonnlp as nlp

    cell = nlp.model.attention_cell.MultiHeadAttentionCell(
        nlp.model.attention_cell.DotProductAttentionCell(scaled=True), 8, 8, 8, 2
    )
    q, k = image(2, 3, 8), image(2, 4, 8)
    cell.initialize()
    cell(q, k)
    fill(cell)
    return asked(cell, q, k)


@case
def nlp_standard_lm():
    from gluonnlp.model import StandardRNN

    net = StandardRNN("lstm", 30, 8, 8, 2, dropout=0.0, tie_weights=True)
    return language_model(net)


@case
def nlp_awd_lm():
    from gluonnlp.model import AWDRNN

    return language_model(
        AWDRNN(
            "lstm",
            30,
            8,
            12,
            2,
            tie_weights=True,
            dropout=0.0,
            weight_drop=0,
            drop_h=0,
            drop_i=0,
            drop_e=0,
        )
    )


def language_model(net):
    net.initialize()
    x = tokens(7, 2)
    state = net.begin_state(batch_size=2, func=mx.nd.zeros)
    net(x, state)
    fill(net)
    return asked(net, x, state)


@case
def nlp_cache_cell():
    import gluonnlp as nlp

    lm = nlp.model.StandardRNN("lstm", 30, 8, 8, 1, dropout=0.0, tie_weights=False)
    x = tokens(7, 1)
    lm.initialize()
    state = lm.begin_state(batch_size=1, func=mx.nd.zeros)
    lm(x, state)
    fill(lm)
    return [x.asnumpy() for x in arrays(lm(x, state))]


@case
def nlp_beam_search():
    import gluonnlp as nlp

    class Decoder(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            self.table = mx.nd.array(np.random.RandomState(2).normal(size=(9, 9)))

        def __call__(self, step, states):
            # The steps differ, so that no two ways have the same score.
            rows = mx.nd.take(self.table, step) * (1 + 0.1 * states[:, :1])
            return mx.nd.log_softmax(rows), states + 1

    sampler = nlp.model.BeamSearchSampler(
        beam_size=3,
        decoder=Decoder(),
        eos_id=0,
        max_length=6,
        scorer=nlp.model.BeamSearchScorer(alpha=0.6),
    )
    found = sampler(mx.nd.array([2, 3]), mx.nd.zeros((2, 4)))
    return [x.asnumpy() for x in found]


@case
def nlp_conv_encoder():
    from gluonnlp.model import ConvolutionalEncoder, Highway

    net = ConvolutionalEncoder(
        embed_size=6, num_filters=(4, 5), ngram_filter_sizes=(2, 3)
    )
    x = image(7, 2, 6)
    road = Highway(6, 2)
    return asked(filled(net, x), x) + asked(filled(road, x[0]), x[0])


@case
def nlp_data():
    """Vocabularies, batchify functions, samplers."""
    import gluonnlp as nlp

    vocab = nlp.Vocab(nlp.data.count_tokens(["a", "b", "b", "c", "c", "c", "d"]))
    padded = nlp.data.batchify.Pad(axis=0, pad_val=1, ret_length=True)
    array, length = padded([vocab[["a", "b"]], vocab[["c"]], vocab[["d", "c", "b"]]])
    clip = nlp.data.PadSequence(4)([1, 2])
    sampler = nlp.data.FixedBucketSampler([3, 5, 9, 4, 2], batch_size=2, num_buckets=2)
    batches = sorted(map(sorted, sampler))
    return [
        array.asnumpy(),
        length.asnumpy(),
        np.array(clip),
        np.array([len(b) for b in batches]),
    ]


@case
def nlp_bert_tokens():
    import gluonnlp as nlp

    words = [
        "[UNK]",
        "[PAD]",
        "[SEP]",
        "[CLS]",
        "[MASK]",
        "he",
        "##llo",
        "wor",
        "##ld",
        "!",
    ]
    vocab = nlp.vocab.BERTVocab({w: 10 - i for i, w in enumerate(words)})
    transform = nlp.data.BERTSentenceTransform(
        nlp.data.BERTTokenizer(vocab), max_seq_length=8, pair=False
    )
    return [np.array(x) for x in transform(["Hello world!"])]
